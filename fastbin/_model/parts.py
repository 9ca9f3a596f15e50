"""A model and a set of models as one thing: models in a row, each with the key of its cell; and how they are shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastbin._base.shown import printable

if TYPE_CHECKING:
    from fastbin._base.cells import Key


class Parts:
    """A model or a set, as models in a row; scoring imports nothing for it."""

    is_set: bool
    """Whether the models have cells, so that rows come with keys and results say which cell they are about."""

    @property
    def numbered(self) -> list[tuple[Key | None, Any]]:
        """Every model with its key, in the order of their numbers. The pool of a set is the last and has none."""
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
        from fastbin._base import table
        from fastbin._model import view

        return table.to_pandas(view.columns_of(self, alpha))

    def to_polars(self, alpha: float | None = 0.1) -> Any:
        """As `to_pandas`, as a Polars DataFrame; MissingDependencyError without Polars."""
        from fastbin._base import table
        from fastbin._model import view

        return table.to_polars(view.columns_of(self, alpha))

    def to_dict(self, alpha: float | None = 0.1) -> dict[str, Any]:
        """Plain dicts, lists, strings and numbers, ready for JSON: the facts, and one dict per bin under "bins".

        Parameters
        ----------
        alpha : float or None
            Of the intervals; ``None`` leaves them out, and needs NumPy alone.
        """
        from fastbin._model import view

        return view.as_dict(self, alpha)

    def __str__(self) -> str:
        from fastbin._model import view

        return printable(view.in_text(self), keep="\n")

    def _repr_html_(self) -> str:
        from fastbin._model import view

        return view.in_html(self)
