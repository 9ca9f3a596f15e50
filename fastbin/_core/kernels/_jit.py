"""The one decorator that states the rules of every kernel.

Explicit signatures, so that compilation happens at import and never again; no fast-math, so that results do not depend
on the build; NumPy's error model, so that 0.0 / 0.0 is NaN and not an exception; the GIL released, so that chunks can be
folded by Python threads; never ``parallel=True``, which aborts the process when two Python threads enter it.

Compiled code is cached beside the module, or in the user's cache directory, where one of them can be written, and quietly
left uncached where neither can: ``cache=True`` would raise in a read-only tree with no home directory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fastbin._base.dependencies import needed_for

with needed_for("fits (but not scoring)", extra="fit"):
    import numba
    from numba import types

boolean = types.boolean
f64, i64, u64 = types.float64, types.int64, types.uint64


def _array(dtype: types.Type, readonly: bool) -> types.Array:
    return types.Array(dtype, 1, "C", readonly=readonly)


# Contiguous one-dimensional arrays: `_in` is read only (and so accepts read-only data), `_out` is written.
f64_in, f64_out = _array(types.float64, True), _array(types.float64, False)
i64_in, i64_out = _array(types.int64, True), _array(types.int64, False)
i32_in, i32_out = _array(types.int32, True), _array(types.int32, False)
u32_in, u32_out = _array(types.uint32, True), _array(types.uint32, False)
u64_in, u64_out = _array(types.uint64, True), _array(types.uint64, False)
u8_in = _array(types.uint8, True)


def kernel(signature: types.Type | Sequence[types.Type]) -> Callable[[Callable[..., object]], Callable[..., Any]]:
    """Compile a function for one signature (or several) under the rules above."""

    def compile_function(function: Callable[..., object]) -> Callable[..., Any]:
        options = {"nopython": True, "nogil": True, "error_model": "numpy", "fastmath": False, "boundscheck": False}
        try:
            compiled = numba.jit(signature, cache=True, **options)(function)
        except (RuntimeError, OSError):  # no writable place for the cache
            compiled = numba.jit(signature, cache=False, **options)(function)
        return compiled

    return compile_function
