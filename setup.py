"""The parts of the build that pyproject.toml cannot express: the C library, the extensions on it, the version of its header."""

from __future__ import annotations

import os
import re
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from setuptools import Extension, setup
from setuptools.command.build_clib import build_clib
from setuptools.command.build_ext import build_ext
from setuptools.errors import PlatformError

ROOT = Path(__file__).parent
HEADER = Path("csrc/include/fastbin.h")
SOURCES = sorted(path.as_posix() for path in Path("csrc/src").glob("*.c"))
# They belong to one extension, and not to the library.
FIT_SOURCES = sorted(path.as_posix() for path in Path("csrc/fit").glob("*.c"))
HEADERS = [path.as_posix() for path in (HEADER, *sorted(Path("csrc/src").glob("*.h")), *sorted(Path("csrc/fit").glob("*.h")))]

EXTENSIONS = ("score", "fit")  # the one that takes longer to compile comes first
PARTS = sorted(path.as_posix() for path in Path("fastbin/_core").glob("*.px[di]"))
JOBS = int(os.environ.get("FASTBIN_BUILD_JOBS") or os.cpu_count() or 1)

# No fast-math, no contraction to fused multiply-add, no -march: results must not depend on the machine that built them.
# Hidden symbols: an extension that exported the library's functions would call those of a library loaded before it. Programs
# link the archive as before.
STRICT = ["-ffp-contract=off", "-fvisibility=hidden", "-g0"]
# Aligned code: without it, the place where the linker puts a loop changes the time of predict() by 2 to 4 %
# (measured with 100 bins and 1,000 to 1,000,000 rows on a Xeon).
ALIGNED = ["-falign-functions=64", "-falign-loops=32"]
C_FLAGS = ["/O2", "/std:c11"] if sys.platform == "win32" else ["-O3", "-std=c11", "-fPIC", *STRICT, *ALIGNED]
EXTENSION_FLAGS = ["/O2", "/std:c11"] if sys.platform == "win32" else ["-O3", *STRICT]

LIBRARY = {
    "sources": SOURCES,
    "include_dirs": ["csrc/include", "csrc/src"],
    "cflags": C_FLAGS,
    "obj_deps": {"": HEADERS},
}


def version() -> str:
    match = re.search(r'#define FASTBIN_VERSION_STRING "([^"]+)"', (ROOT / HEADER).read_text(encoding="utf8"))
    if match is None:
        raise RuntimeError(f"{HEADER} does not define FASTBIN_VERSION_STRING")
    return match.group(1)


class BuildLibrary(build_clib):
    """The static library, under a fixed path below the build folder; several files at once."""

    def finalize_options(self) -> None:
        super().finalize_options()
        self.build_clib = self.build_temp

    def build_libraries(self, libraries: list[Any]) -> None:
        command = getattr(self.compiler, "compiler", None)  # Microsoft's has none, and is searched for by setuptools
        if command and shutil.which(command[0]) is None:
            remedy = "install one (Debian: apt install gcc; macOS: xcode-select --install), or say which it is by CC"
            raise PlatformError(f"fastbin is compiled, and its C compiler {command[0]!r} is not found; {remedy}")
        compile_in_turn = self.compiler.compile

        def compile_at_once(sources: list[str], **options: Any) -> list[str]:
            with ThreadPoolExecutor(JOBS) as pool:
                lists = pool.map(lambda source: compile_in_turn([source], **options), sources)
                return [made for list_of_one in lists for made in list_of_one]

        self.compiler.compile = compile_at_once
        super().build_libraries(libraries)


class BuildExtensions(build_ext):
    """The extensions, after the library they link (``build_ext --inplace`` alone would skip it).

    Cython runs here and not when setup() is called, as a source distribution, or the version, needs none of it.
    """

    def run(self) -> None:
        import numpy
        from Cython.Build import cythonize

        self.run_command("build_clib")
        library = self.get_finalized_command("build_clib")
        self.library_dirs.append(library.build_clib)
        self.include_dirs.append(numpy.get_include())
        made = cythonize(
            [Extension(extension.name, extension.sources[:1]) for extension in self.extensions],
            build_dir="build/cython",
            nthreads=JOBS,
            compiler_directives={"language_level": 3, "boundscheck": False, "wraparound": False, "embedsignature": True},
        )
        for extension, written in zip(self.extensions, made, strict=True):
            extension.sources[:1] = written.sources
        super().run()
        package = Path("fastbin") if self.inplace else Path(self.build_lib, "fastbin")
        for source, folder in ((HEADER, "include"), (next(Path(library.build_clib).glob("*fastbin.*")), "lib")):
            target = package / "_c" / folder
            target.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)


def extension(name: str) -> Extension:
    return Extension(
        f"fastbin._core.{name}",
        [f"fastbin/_core/{name}.pyx", *(FIT_SOURCES if name == "fit" else ())],
        include_dirs=["csrc/include", "csrc/src", "csrc/fit"],  # src: the arithmetic of keys, inlined
        libraries=["fastbin"] + ([] if sys.platform == "win32" else ["m"]),
        # An edited C source must relink the extension; setuptools looks at these alone.
        depends=[*HEADERS, *SOURCES, *FIT_SOURCES, *PARTS],
        define_macros=[("NPY_NO_DEPRECATED_API", "NPY_1_7_API_VERSION")],
        extra_compile_args=EXTENSION_FLAGS,
    )


if __name__ == "__main__":  # the processes that Cython starts may read this file again
    setup(
        version=version(),
        libraries=[("fastbin", LIBRARY)],
        ext_modules=[extension(name) for name in EXTENSIONS],
        options={"build_ext": {"parallel": JOBS}},
        cmdclass={"build_clib": BuildLibrary, "build_ext": BuildExtensions},
    )
