"""Optional dependencies: imported where they are used; if one is missing, the error says how to install it."""

from __future__ import annotations

from types import TracebackType

from fastbin._base.errors import MissingDependencyError

# What pip calls this package. The name "fastbin" belongs to another project there.
DISTRIBUTION = "fastbin-calibration"


def install_command(extra: str, *, upgrade: bool = False) -> str:
    """The command that brings the packages of this extra, whether this package came from an index or from a clone."""
    from importlib.metadata import PackageNotFoundError  # 10 ms that no import of the package should take

    command = "pip install --upgrade" if upgrade else "pip install"
    try:
        return f'extra "{extra}" of {DISTRIBUTION}: {command} {" ".join(_packages_of(extra))}'
    except PackageNotFoundError:  # imported from a folder where nothing was installed
        return f"{command} '{DISTRIBUTION}[{extra}]'"


def _packages_of(extra: str) -> list[str]:
    """The packages of an extra as they are typed in a shell, those of extras that it includes first."""
    import re
    from importlib.metadata import requires

    found = []
    for line in requires(DISTRIBUTION) or ():
        package, _, condition = line.partition(";")
        if re.search(rf"""\bextra == ["']{extra}["']""", condition):
            included = re.match(rf"{DISTRIBUTION}\[(.+)\]", package)
            found += _packages_of(included[1]) if included else [f'"{package.strip()}"']
    return found


class needed_for:
    """A block of imports that may fail: an ImportError becomes a `MissingDependencyError` that names what to install.

    That is an extra of this package, or another package that no extra brings.

    ::

        with needed_for("intervals and certificates", extra="fit"):
            from scipy.special import betaincinv

    A class and not a generator: these blocks stand in functions that are called often, and this adds a third of a microsecond.
    """

    def __init__(self, purpose: str, *, extra: str = "", package: str = "") -> None:
        self.purpose = purpose
        self.extra = extra
        self.package = package

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if not isinstance(error, ImportError) or isinstance(error, MissingDependencyError):
            return
        package = (error.name or "").partition(".")[0]
        if isinstance(error, ModuleNotFoundError) and package:
            problem = f"{package}, which is not installed"
        else:  # installed, but too old or broken
            problem = f"what cannot be imported here ({error})"
        command = f"pip install {self.package}" if self.package else install_command(self.extra)
        raise MissingDependencyError(f"{self.purpose} need {problem}; {command}", name=error.name) from error
