"""A namespace of Polars expressions: ``pl.col("p").fastbin.predict(model)``, from the import of this module on."""

from __future__ import annotations

from typing import Any

from fastbin._base.dependencies import needed_for
from fastbin.engines.predicting import polars_expression

with needed_for("expressions of Polars", package="polars"):
    import polars as pl

__all__ = ["ExpressionNamespace"]
__dir__ = __all__.copy  # completion lists the public names


@pl.api.register_expr_namespace("fastbin")
class ExpressionNamespace:
    """The member ``fastbin`` of each expression of Polars.

    ``import fastbin.polars`` registers it; it is not to be called.

    Parameters
    ----------
    expression : polars.Expr
        The scores.

    Examples
    --------
    >>> import fastbin as fb
    >>> import fastbin.polars
    >>> import polars as pl
    >>> model = fb.BinnedModel.from_parts(edges=[0.5], values=[0.2, 0.7])
    >>> frame = pl.LazyFrame({"p": [0.1, 0.5, None]})
    >>> frame.select("p", q=pl.col("p").fastbin.predict(model)).collect().rows()
    [(0.1, 0.2), (0.5, 0.7), (None, None)]
    """

    def __init__(self, expression: pl.Expr) -> None:
        self._expression = expression

    def predict(self, model: Any, *, cell: pl.Expr | str | None = None, tie_key: pl.Expr | str | None = None) -> pl.Expr:
        """The calibrated probability of each row, with the bits of ``model.predict``.

        Parameters
        ----------
        model : BinnedModel, fitted calibrator or ModelSet
            Without randomised values.
        cell : polars.Expr or str, optional
            Only for a ModelSet: the cell of each row, an expression or the name of a column.
        tie_key : polars.Expr or str, optional
            Only for a model that splits ties by key: unsigned integers, or texts of 16 lower-case hexadecimal digits.

        Returns
        -------
        polars.Expr
            Float64, with the name of the scores. It is elementwise: Polars may work in batches, and push filters past it.
            A row has null where its score is null, NaN, infinite or out of range, or its cell or key has no answer, as by
            `fastbin.engines.predict`.

        Raises
        ------
        InputError, InputTypeError
            When `cell` or `tie_key` is missing or of no use, or the model randomises its values. Where the query runs, in some
            versions as an error of Polars: when a column has a type that cannot be used, or the scores are several columns.

        Notes
        -----
        The compiled model scores batch by batch, in O(n log n_bins) time. It needs PyArrow.
        """
        cell, tie_key = (pl.col(each) if isinstance(each, str) else each for each in (cell, tie_key))
        return polars_expression(model, self._expression, cell, tie_key)
