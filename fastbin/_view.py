"""How models and sets are printed, shown in notebooks and turned into data frames; nothing of it is imported to score."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from fastbin._shown import printable


class View(NamedTuple):
    """What a kind of model looks like; each function takes the model, and those with an alpha an alpha."""

    text: Callable[[Any], str]
    html: Callable[[Any], str]
    columns: Callable[[Any, float | None], dict[str, list[Any]]]
    plain: Callable[[Any, float | None], dict[str, Any]]


class Shown:
    """What a model and a set of models have in common for people and for programs around them."""

    def _view(self) -> View:
        """Of this kind of model; imported where it is asked for."""
        raise NotImplementedError

    def to_pandas(self, alpha: float | None = 0.1) -> Any:
        """One row per bin, of a set for all its models: scores, value, counts and the simultaneous interval.

        Parameters
        ----------
        alpha : float or None
            Of the intervals, which a set shares between all its models; ``None`` leaves them out.

        Returns
        -------
        pandas DataFrame
            A bin begins at ``lower``, itself included, and ends before ``upper``; of equal edges a random key decides. Without
            ``interval_lower`` and ``interval_upper`` where the method supports no interval.

        Raises
        ------
        MissingDependencyError
            Without pandas, or without SciPy for intervals.

        Examples
        --------
        >>> import fastbin as fb
        >>> model = fb.FixedWidthBinning(n_bins=2).fit([0.1, 0.2, 0.3, 0.6, 0.7, 0.8], [0, 0, 1, 0, 1, 1]).model_
        >>> model.to_pandas()[["lower", "upper", "count", "interval_upper"]].round(3)
           lower  upper  count  interval_upper
        0    0.0    0.5      3           0.904
        1    0.5    1.0      3           0.991
        """
        from fastbin._tables import to_pandas

        return to_pandas(self._view().columns(self, alpha))

    def to_polars(self, alpha: float | None = 0.1) -> Any:
        """As `to_pandas`, as a Polars DataFrame; MissingDependencyError without Polars."""
        from fastbin._tables import to_polars

        return to_polars(self._view().columns(self, alpha))

    def to_dict(self, alpha: float | None = 0.1) -> dict[str, Any]:
        """Plain dicts, lists, strings and numbers, ready for JSON: the facts, and one dict per bin under "bins".

        Parameters
        ----------
        alpha : float or None
            Of the intervals; ``None`` leaves them out, and needs NumPy alone.
        """
        return self._view().plain(self, alpha)

    def __str__(self) -> str:
        return printable(self._view().text(self), keep="\n")

    def _repr_html_(self) -> str:
        return self._view().html(self)
