"""The names of the ways to compute a bound, and the errors for other names."""

from __future__ import annotations

from typing import Any

from fastbin._base.checks import check_choice
from fastbin._base.errors import InputError

# For each kind of certificate its bounds; the first is the default. "clopper-pearson", "hull" and "data" depend on the labels.
CERTIFICATE_BOUNDS = {
    "conditional": ("clopper-pearson", "hull", "a-priori", "hoeffding"),
    "marginal": ("clopper-pearson", "hull", "a-priori", "hoeffding"),
    "ece": ("data", "a-priori", "hoeffding"),
    "expected-ece": ("a-priori", "hoeffding"),
}
# What can be computed before any label is seen.
PRIOR_BOUNDS = ("a-priori", "hoeffding")

_HINTS = {
    "clopper-pearson": "it is about the interval of each bin, as the kinds 'conditional' and 'marginal' are",
    "hull": "it is about the interval of each bin, as the kinds 'conditional' and 'marginal' are",
    "data": "it is about the kind 'ece' alone, for the labels of a fitted model",
}


def check_bound(bound: Any, kind: str, names: tuple[str, ...] | None = None) -> str:
    """The name of a bound for this kind of promise; None stands for the first of `names`."""
    names = CERTIFICATE_BOUNDS[kind] if names is None else names
    if bound is None:
        return names[0]
    if isinstance(bound, str) and bound in names:
        return bound
    message = f"bound is {bound!r}; for kind={kind!r} choose one of {', '.join(map(repr, names))}"
    if bound == "exact":
        message = f"bound is 'exact', which meant several things; here, for kind={kind!r}, it is called {names[0]!r}"
    elif isinstance(bound, str) and bound in _HINTS:
        message = f"{message} ({bound!r}: {_HINTS[bound]})"
    raise InputError(message)


def check_prior(kind: Any, bound: Any, kinds: tuple[str, ...] = ("conditional", "marginal")) -> tuple[str, str]:
    """The names of a kind of promise, and of a bound for it that is known before any label is seen."""
    kind = check_choice(kind, "kind", kinds)
    return kind, check_bound(bound, kind, PRIOR_BOUNDS)
