"""Optional dependencies: imported where they are used, and what is missing is told with the command that brings it."""

from __future__ import annotations

from types import TracebackType

from fastbin._errors import MissingDependencyError

__all__ = ["DISTRIBUTION", "install_command", "needed_for"]

# What pip calls this package. The name "fastbin" belongs to another project there.
DISTRIBUTION = "fastbin-calibration"


def install_command(extra: str) -> str:
    """The command that installs what this extra brings."""
    return f"pip install '{DISTRIBUTION}[{extra}]'"


class needed_for:
    """A block of imports that may fail: what is missing is raised as `MissingDependencyError`, which names the extra.

    ::

        with needed_for("intervals and certificates", extra="fit"):
            from scipy.special import betaincinv

    A class and not a generator: these blocks stand in functions that are called often, and this adds a third of a microsecond.
    """

    def __init__(self, purpose: str, *, extra: str) -> None:
        self.purpose = purpose
        self.extra = extra

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if not isinstance(error, ImportError) or isinstance(error, MissingDependencyError):
            return
        package = (error.name or "").partition(".")[0]
        if isinstance(error, ModuleNotFoundError) and package:
            told = f"{self.purpose} need {package}, which is not installed; {install_command(self.extra)}"
        else:  # there, but too old or broken
            told = f"{self.purpose} need what cannot be imported here ({error}); {install_command(self.extra)}"
        raise MissingDependencyError(told, name=error.name) from error
