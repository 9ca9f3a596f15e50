"""A model, or a set of models, as one C header that needs no library."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np

from fastbin._base.array_types import Array, Float64s, Int64s
from fastbin._base.errors import InputError
from fastbin.export.form import Curve, as_exported, digest_of
from fastbin.export.source import (
    Language,
    SetCells,
    Tables,
    check_name,
    comment,
    program,
    said_of_answers,
    signatures,
    source_of,
    uses,
    wrapped,
)

# Keywords of C and C++ of all years, what the headers declare that it includes, functions that gcc and clang know without one,
# and what some of them define as 1.
RESERVED = """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t char8_t class co_await
    co_return co_yield compl concept const const_cast consteval constexpr constinit continue decltype default delete do double
    dynamic_cast else enum explicit export extern false final float for friend goto if import inline int long main module
    mutable namespace new noexcept not not_eq nullptr operator or or_eq override private protected public register
    reinterpret_cast requires restrict return short signed sizeof static static_assert static_cast struct switch template this
    thread_local throw true try typedef typeid typename typeof typeof_unqual union unsigned using virtual void volatile while
    xor xor_eq
    bcmp bcopy bzero explicit_bzero ffs ffsl ffsll index memccpy memchr memcmp memcpy memmem memmove mempcpy memrchr memset
    rindex stpcpy stpncpy strcasecmp strcasestr strcat strchr strchrnul strcmp strcoll strcpy strcspn strdup strerror strlcat
    strlcpy strlen strncasecmp strncat strncmp strncpy strndup strnlen strpbrk strrchr strsep strsignal strspn strstr strtok
    strxfrm swab
    abort abs calloc exit free fprintf fputs labs malloc printf putchar puts realloc scanf snprintf sprintf sscanf
    alloca aligned_alloc dcgettext dgettext execl execle execlp execv execve execvp feclearexcept fegetenv
    fegetexceptflag fegetround feholdexcept feraiseexcept fesetenv fesetexceptflag fesetround fetestexcept feupdateenv fork
    fputc fputc_unlocked fputs_unlocked fscanf fwrite fwrite_unlocked gettext imaxabs isascii isgreater isgreaterequal isless
    islessequal islessgreater isunordered llabs posix_memalign putc putc_unlocked putchar_unlocked puts_unlocked toascii tolower
    toupper towlower towupper vfprintf vfscanf vprintf vscanf vsnprintf vsprintf vsscanf
    EOF HUGE_VAL INFINITY NAN NULL errno i386 linux stderr stdin stdout unix
"""
# Functions of numbers, also of complex ones and of other widths: cos, ccos, cosf, ccosl.
MATHEMATICS = """
    acos acosh arg asin asinh atan atan2 atanh cbrt ceil conj copysign cos cosh drem erf erfc exp exp10 exp2 expm1 fabs
    fdim finite floor fma fmax fmin fmod fpclassify frexp gamma hypot ilogb imag isfinite isinf isnan isnormal j0 j1 jn
    ldexp lgamma llrint llround log log10 log1p log2 logb lrint lround modf nan nearbyint nextafter nexttoward pow pow10
    proj real remainder remquo rint round roundeven scalb scalbln scalbn signbit significand sin sincos sinh sqrt tan
    tanh tgamma trunc y0 y1 yn
"""
RESERVED_FORMS = re.compile(
    r"_.*|.*__.*|.*_t?|(?:U?INT|PTRDIFF|SIG_ATOMIC|SIZE|WCHAR|WINT)\w*_(?:MAX|MIN|C)"
    r"|isw?(?:alnum|alpha|blank|cntrl|digit|graph|lower|print|punct|space|upper|xdigit)"
    rf"|c?(?:abs|{'|'.join(MATHEMATICS.split())})(?:f|l|f(?:32|64|128)x?)?(?:_r)?"
)

# The ends of the names of the functions, and what they give.
SHOWN = {
    "value": ("", "the calibrated probability"),
    "bin": ("_bin", "the number of the bin"),
    "lower": ("_lower", "the lower end of the interval of the bin"),
    "upper": ("_upper", "the upper end of the interval of the bin"),
    "lower_if_rising": ("_lower_if_rising", "the lower end for the truth at the score, if it does not fall as scores rise"),
    "upper_if_rising": ("_upper_if_rising", "the upper end for the truth at the score, if it does not fall as scores rise"),
    "decision": ("_decision", "1 where the decision that the model carries accepts, -1 where it rejects, else 0"),
}
LARGEST = 2**63 - 1

COMPARE = """\
/* Bytes as a text of a cell has them: negative where the cell at this place comes first, 0 where it is the same. */
static inline int {name}_compare(int32_t place, const char *cell, size_t size) {{
  const size_t own = {name}_sizes[place];
  const int order = memcmp({name}_cells[place], cell, own < size ? own : size);
  return order != 0 ? order : own < size ? -1 : own > size ? 1 : 0;
}}"""


def c_source(model: Any, name: str, *, outputs: Sequence[str] = ("value",), alpha: float | None = None) -> str:
    """A model, or a set of models, as one C header: the same bits as `predict`, without any library.

    The header is C99 and C++11, includes <stdint.h> and <string.h> alone, and can be included in several files, beside the
    headers of models with other names. Its first lines list its functions: ``double NAME(double score)`` for the value,
    ``int32_t NAME_bin``, ``double NAME_lower`` and ``double NAME_upper``. The macro ``NAME_SHA256`` is the digest of the model,
    and ``NAME_EVENT`` the event that it gives the probability of, in UTF-8 ("" where it is not known: label 1).

    Parameters
    ----------
    model : BinnedModel, ModelSet or fitted calibrator
        Not randomised; the models of a set have steps.
    name : str
        Of the function, and what all other names begin with.
    outputs : sequence of {"value", "bin", "lower", "upper", "lower_if_rising", "upper_if_rising", "decision"}
        What to write functions for; those of lower and upper ends are of `interval`, of bins and of `at="score"`.
    alpha : float in (0, 1/2], optional
        Of the intervals of all bins at once, 0.1 if not given.

    Returns
    -------
    str
        The header, in ASCII. About 20 characters an edge and for each step and output.

    Raises
    ------
    InputError, InputTypeError
        For a name that C or C++ does not take or reserves, a model that is randomised, an unknown output, or one that a model
        without steps does not have.
    GuaranteeError
        For the ends of intervals of a model that has none.

    Notes
    -----
    A model that splits ties by key has functions of ``(double score, uint64_t key)``; those of a set have the cell first:
    ``int64_t cell``, or ``const char *cell, size_t size`` for text in UTF-8.

    All functions give -1 for rows without an answer: NaN, infinite scores, scores outside the range of a model that does not
    clip, and unknown cells of a set that refuses them. The cells that a set with a pool does not know have the value of the
    pool, bin -1 and the interval [0, 1].

    Doubles are compared by integer codes, which are in the same order: compilers may not assume anything about integers, so the
    answers are the same under ``-O3 -ffast-math`` and where subnormal doubles are flushed to zero. -0.0 equals 0.0. O(log E) a
    score for E edges. The functions can be called from any number of threads.

    A model without steps has the value alone, and does not compile under ``-ffast-math``. Interpolated values have the same
    bits. Smooth ones need <math.h>, and differ in the last bits if its `exp` and `log` are not those of this machine.

    Examples
    --------
    >>> import fastbin as fb
    >>> cal = fb.ExplicitBinning(edges=[0.5]).fit([0.2, 0.3, 0.6, 0.9], [0, 1, 1, 1])
    >>> header = fb.export.c_source(cal, "calibrated")
    >>> print(header[header.index("static inline double calibrated") :])
    static inline double calibrated(double score) {
      const int32_t step = calibrated_step(score);
      return step < 0 ? -1.0 : calibrated_values[step];
    }
    <BLANKLINE>
    #endif
    <BLANKLINE>
    """
    check_name(name, "name", RESERVED.split(), "C or C++")
    if RESERVED_FORMS.fullmatch(name):
        raise InputError(
            None,
            "C and C++ reserve names that begin with '_' or have '__' in them, as NAME_step would, those in the form of "
            "size_t and INT64_MAX, and those of the standard library; pass another, such as 'calibrated'",
            argument="name",
            value=name,
        )
    fitted = as_exported(model)
    source = source_of(fitted, outputs, alpha)
    digest = digest_of(fitted)
    guard = f"FASTBIN_EXPORT_{name}_{digest[:16]}_H"  # with another model of this name, compilers say that it is there twice
    headers = ["math"] if isinstance(source, Curve) and uses(source, "exp", "log") else []
    language = _language(name, source)
    refusal = (
        f"#if defined(__FAST_MATH__) || defined(_M_FP_FAST)\n#error {name}: compile without -ffast-math (/fp:fast)\n#endif"
    )
    return "\n\n".join(
        [
            comment(fitted, outputs, alpha, *_manual(source, language)) + f"#ifndef {guard}\n#define {guard}",
            "\n".join(f"#include <{header}.h>" for header in (*headers, "stdint", "string")),
            f'#define {name}_SHA256 "{digest}"\n#define {name}_EVENT {_literal(fitted.event.encode())}',
            *([refusal] if isinstance(source, Curve) else []),
            *program(source, language),
            "#endif\n",
        ]
    )


def _manual(source: Tables | Curve, language: Language) -> list[str]:
    """The functions, for those who have nothing but the header."""
    functions = signatures(source, language)
    width = max(map(len, functions.values()))
    said = ["", *(f"{function:<{width}}  {SHOWN[output][1]}" for output, function in functions.items()), ""]
    said += said_of_answers(source, "-1")
    if isinstance(source, Curve):
        return [*said, "So compile without -ffast-math. C99 and C++11; safe to share between threads."]
    return [
        *said,
        "Needs no library. Doubles are compared by integer codes in the same order, so the answers have the same bits under "
        "all options of the compiler, -ffast-math among them. -0.0 equals 0.0. C99 and C++11; safe to share between threads.",
    ]


def _language(name: str, source: Tables | Curve) -> Language:
    """The words of C, in which all names begin with that of the function."""
    has_texts = not isinstance(source, Curve) and source.cells is not None and source.cells.are_texts
    operations = {
        # Compilers fuse a product and a sum, which then differ in the last bit, unless the product is stored.
        "product": ("volatile double product = x * y;", "return product;"),
        **Language._field_defaults["operations"],
    }
    return Language(
        real="double ", whole="int32_t ", integer="int32_t", constants=("const int32_t", "const double"),
        arguments=("int64_t cell, ", "const char *cell, size_t size, ", ", uint64_t key"),
        access=("static inline ", "static inline "), nothing="-1.0",
        name=lambda function: name + (SHOWN[function][0] if function in SHOWN else f"_{function}"),
        table=lambda table: f"{name}_{table}", printed=partial(_table, name, isinstance(source, Curve)),
        cells=partial(_find, name), find=f"{name}_model({'cell, size' if has_texts else 'cell'})",
        score="code", limit=lambda score: str(int(codes_of(np.array([score]))[0])),
        is_above="({edges}[at] < code) | (({edges}[at] == code) & ({keys}[at] <= key))", truth="({})",
        words={"*": f"{name}_product({{}}, {{}})", "exp": "exp({})", "log": "log({})"},
        remark="/* {} */", more=lambda tables: [_code(name)],
        checks=lambda source: [f"int64_t code = {name}_code(score);"], operations=operations,
    )  # fmt: skip


# ------------------------------------------------------------------------------------------------- tables


def _table(name: str, is_curve: bool, table: str, entries: Array) -> str:
    """A constant array; `table` is its name without the prefix. Scores are written as their codes, but on a curve."""
    name = f"{name}_{table}"
    if table in ("edges", "lows", "highs", "clip_lows", "clip_highs") and not is_curve:
        return _array("int64_t", name, map(str, codes_of(entries).tolist()))
    if table == "edge_keys":
        return _array("uint64_t", name, (f"0x{entry:016x}u" for entry in entries.tolist()))
    if entries.dtype.kind == "f":
        return _array("double", name, map(repr, entries.tolist()))
    return _array("int32_t", name, map(str, entries.tolist()))


def _array(kind: str, name: str, entries: Iterable[str]) -> str:
    shown = list(entries)
    return f"static const {kind} {name}[{len(shown)}] = {{\n{wrapped(shown)}\n}};"


def codes_of(scores: Float64s) -> Int64s:
    """int64 (n,): integers in the order of the doubles, the same for 0.0 and -0.0; what `_code` does in C."""
    bits = np.ascontiguousarray(scores, np.float64).view(np.int64)
    return np.where(bits < 0, -(bits & LARGEST), bits)


def _code(name: str) -> str:
    return f"""/* An integer for every double, in the order of the doubles; those of NaN lie beyond those of the infinities. */
static inline int64_t {name}_code(double score) {{
  int64_t code;
  memcpy(&code, &score, sizeof code);
  return code < 0 ? -(code & INT64_MAX) : code;
}}"""


# ------------------------------------------------------------------------------------------------- functions


def _find(name: str, cells: SetCells) -> list[str]:
    """The tables of the cells, and the function that finds the model of one."""
    n_cells = len(cells.keys)
    if cells.are_texts:
        texts = [str(key).encode() for key in cells.keys]
        given = "const char *cell, size_t size"
        is_reached, is_found = (f"{name}_compare(place {at}, cell, size)" for at in ("+ half - 1", "- 1"))
        is_reached, is_found = f"{is_reached} <= 0", f"{is_found} == 0"
        tables = [
            _array("char *const", f"{name}_cells", map(_literal, texts)),
            _array("size_t", f"{name}_sizes", (str(len(text)) for text in texts)),
            COMPARE.format(name=name),
        ]
    else:
        given, is_reached, is_found = (
            "int64_t cell", f"{name}_cells[place + half - 1] <= cell", f"{name}_cells[place - 1] == cell",
        )  # fmt: skip
        shown = ("INT64_MIN" if key == -(2**63) else str(key) for key in cells.keys)
        tables = [_array("int64_t", f"{name}_cells", shown)]
    lines = [
        f"int32_t place = 0, left = {n_cells};",
        *(["if (!cell || size == 0) return -1;"] if cells.are_texts else []),
        "while (left > 0) {",
        "  int32_t half = (left + 1) >> 1;",
        f"  if ({is_reached}) place += half;",
        "  left -= half;",
        "}",
        f"return place > 0 && {is_found} ? {name}_models[place - 1] : {cells.unknown};",
    ]
    body = "".join(f"  {line}\n" for line in lines)
    return [
        *tables,
        f"/* The number of the model of a cell, or -1. */\nstatic inline int32_t {name}_model({given}) {{\n{body}}}",
    ]


def _literal(text: bytes) -> str:
    """Bytes as a string of C: with three octal digits an escape ends where it should, and '?' begins no trigraph."""
    shown = "".join(chr(byte) if 32 <= byte < 127 and byte not in b'"\\?' else f"\\{byte:03o}" for byte in text)
    return f'"{shown}"'
