"""Many models behind one key: segments, classes, anything that says before the score which model a row belongs to.

Like a model, a set is immutable and its memory belongs to the C library. Its promises are about all cells of all models at
once (`fastbin.guarantees.certify_set`).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from fastbin._base.array_types import Array, Bools, Float64s, Int32s, Int64s
from fastbin._base.cells import Key, check_cell, in_order
from fastbin._base.checks import check_alpha, check_choice
from fastbin._base.errors import InputError, InputTypeError, by_name
from fastbin._base.files import SupportsRead
from fastbin._base.frames import check_same_index, like, read_column
from fastbin._base.shown import how_many
from fastbin._base.signatures import alpha_by_name
from fastbin._core.score import NativeModelSet
from fastbin._model.parts import NAMES_OF_ENDS, At, Parts, Saved, read_file
from fastbin.model import BinnedModel, IntervalBound
from fastbin.vector_model import VECTOR_MAGIC, VectorModel

if TYPE_CHECKING:
    from fastbin.guarantees import Certificate, SetCertificate

# With what their cells are called in promises.
SET_KINDS = {"given": "cells", "segments": "segments", "top-label": "predicted classes", "class-wise": "classes"}
UNKNOWN = ("refuse", "pool")
# How the file of a set begins; that of a model, or anything else, is left to its reader.
SET_MAGIC = b"\x89FBT"


class ModelSet(Saved, NativeModelSet, Parts):
    """Models behind keys: the key of a row chooses the model that scores it.

    Parameters
    ----------
    models : mapping of keys to BinnedModel or fitted calibrators
        Keys are integers of 64 bits, or non-empty texts of at most 1,024 bytes in UTF-8; all of one type.
    unknown : {"refuse", "pool"}
        What a row of another key gets: an error, or the value of the pool, with no interval and no certificate.
    pool : BinnedModel or fitted calibrator, optional
        One model for several cells, such as those with too few samples for models of their own.
    pooled_cells : iterable of keys, optional
        The keys of these cells. To promises, they are one cell together.

    Attributes
    ----------
    cells : tuple of int or str
        All keys, ascending, those of the pool included.
    pooled_cells : tuple of int or str
    models : dict
        The models with a key of their own.
    pool : BinnedModel or None
    kind : str
        "given"; "segments", "top-label" or "class-wise" where `fastbin.multi` made the set.
    columns : tuple of int or str, or None
        The classes in the order of the columns of a probability matrix, for sets of classes.
    n_models, n_bins, n_samples : int
        In all models together; each sample of a class-wise set counts once.
    event : str
        The event that the values of all models are the probability of; "" where it is not known, or differs.
    provenance : dict, or None

    Raises
    ------
    InputError, InputTypeError
        For no models, keys of two types, a key that is given twice, a pool without keys and without ``unknown="pool"``, ...

    Notes
    -----
    A promise about all cells at once needs cells that share no samples: models whose calibration samples are told apart by
    their key, or by anything else that is known without the labels. A set of kind "class-wise" does not have them, as the same
    samples serve all its models, and each class gets an equal share of alpha.

    Safe to share between threads. Scoring needs NumPy alone.

    Examples
    --------
    >>> import fastbin as fb
    >>> north = fb.ExplicitBinning(edges=[0.5]).fit([0.2, 0.7, 0.9], [0, 1, 1])
    >>> south = fb.ExplicitBinning(edges=[0.4]).fit([0.1, 0.3, 0.6], [0, 1, 0])
    >>> models = fb.ModelSet({"north": north, "south": south})
    >>> models.predict([0.8, 0.8, 0.1], ["north", "south", "south"])
    array([1. , 0. , 0.5])
    >>> models.predict_one(0.8, "north")
    1.0
    """

    is_set: Literal[True] = True

    # What was asked of `predict_interval` last, the set that finds a row of its table, the table, and what its columns are
    # called: thousands of models take longer than the rows of a request.
    _intervals: tuple[Any, Any, Any, Any] = (None, None, None, None)

    def __init__(
        self, models: Mapping[Any, Any], *, unknown: str = "refuse", pool: Any = None, pooled_cells: Iterable[Any] = ()
    ) -> None:
        if not isinstance(models, Mapping):
            raise InputTypeError(f"is of type {type(models).__name__}", "pass a mapping of keys to models", argument="models")
        if isinstance(pooled_cells, str) or not isinstance(pooled_cells, Iterable):
            raise InputTypeError(None, "pass a list of keys", argument="pooled_cells", value=pooled_cells)
        self._set_up(models, pool, list(pooled_cells), unknown=unknown)

    @classmethod
    def _of(
        cls, models: Mapping[Any, Any], *, kind: str, unknown: str = "refuse", pool: Any = None,
        pooled_cells: Iterable[Any] = (), columns: Iterable[Any] | None = None, provenance: bytes = b"",
    ) -> ModelSet:  # fmt: skip
        """A set that `fastbin.multi` makes; `columns` are its keys in the order of the columns."""
        made = cls.__new__(cls)
        made._set_up(models, pool, list(pooled_cells), unknown=unknown, kind=kind, columns=columns, provenance=provenance)
        return made

    def _set_up(
        self, models: Mapping[Any, Any], pool: Any, pooled: list[Any], *, unknown: str, kind: str = "given",
        columns: Iterable[Any] | None = None, provenance: bytes = b"",
    ) -> None:  # fmt: skip
        own = {check_cell(key, "a key of models"): as_model(model, f"models[{key!r}]") for key, model in models.items()}
        keys = in_order([*own, *pooled], "cells")
        if not keys:
            raise InputError("is empty, and so is pooled_cells", "a set has at least one key", argument="models")
        policy = UNKNOWN.index(check_choice(unknown, "unknown", UNKNOWN))
        if pool is None and (pooled or unknown == "pool"):
            raise InputError("pooled_cells and unknown='pool' need a model for such rows", "give it as pool")
        if pool is not None and not pooled and unknown != "pool":
            raise InputError("is given and no row would ever get it", "give pooled_cells, or unknown='pool'", argument="pool")
        ranked = {key: number for number, key in enumerate(key for key in keys if key in own)}
        every = [own[key] for key in ranked] + ([] if pool is None else [as_model(pool, "pool")])
        numbers = np.array([ranked.get(key, len(ranked)) for key in keys], np.int32)
        place = {key: at for at, key in enumerate([] if columns is None else columns)}
        texts = [key for key in keys if isinstance(key, str)]
        self._fill(
            every, texts or np.array(keys, np.int64), numbers, kind=list(SET_KINDS).index(kind),
            unknown=policy, pool=-1 if pool is None else len(ranked),
            columns=np.array([place[key] for key in keys], np.int32) if place else None, provenance=provenance,
        )  # fmt: skip

    # ------------------------------------------------------------------ what is in it

    @property
    def kind(self) -> str:
        """How the cells came about: "given", "segments", "top-label" or "class-wise"."""
        return list(SET_KINDS)[self._codes[0]]

    @property
    def unknown(self) -> str:
        """The policy for rows of unknown keys: "refuse" or "pool"."""
        return UNKNOWN[self._codes[2]]

    @cached_property
    def cells(self) -> tuple[Key, ...]:
        """All cells, ascending."""
        integers = self._int_keys
        return tuple(self._text_keys or () if integers is None else integers.tolist())

    @cached_property
    def pooled_cells(self) -> tuple[Key, ...]:
        """The keys whose rows the pool scores."""
        return tuple(key for key, number in zip(self.cells, self._model_of_key.tolist(), strict=True) if number == self._pool)

    @property
    def pool(self) -> BinnedModel | None:
        """The model of the pooled keys, or ``None``."""
        return None if self._pool < 0 else self._model(self._pool, BinnedModel)

    @property
    def models(self) -> dict[Key, BinnedModel]:
        """The models with a key of their own, by key."""
        return {key: model for key, model in self.numbered if key is not None}

    @cached_property
    def columns(self) -> tuple[Key, ...] | None:
        """The classes in the order of the columns of a probability matrix; ``None`` for cells that are not classes."""
        if self.kind not in ("top-label", "class-wise"):
            return None
        return self.cells if self._columns is None else tuple(self.cells[at] for at in np.argsort(self._columns))

    @property
    def numbered(self) -> list[tuple[Key | None, BinnedModel]]:
        """Every model with its key, in the order of their numbers; the pool is the last and has none."""
        names: list[Key | None] = [None] * self.n_models
        for key, number in zip(self.cells, self._model_of_key.tolist(), strict=True):
            if number != self._pool:
                names[number] = key
        return [(name, self._model(number, BinnedModel)) for number, name in enumerate(names)]

    @cached_property
    def first_bin(self) -> Int64s:
        """int64 (n_models + 1,): the number of each model's first bin, where the bins of all models are counted on."""
        return np.cumsum([0, *(model.n_bins for _, model in self.numbered)], dtype=np.int64)

    @property
    def n_bins(self) -> int:
        """The bins of all models."""
        return int(self.first_bin[-1])

    @cached_property
    def n_samples(self) -> int:
        """The samples of all fits; those of a class-wise set count once, as all its models have the same."""
        counts = [model.n_samples for _, model in self.numbered]
        return max(counts) if self.kind == "class-wise" else sum(counts)

    def same_map(self, other: ModelSet) -> bool:
        """Whether another set gives every row the same probability: its keys and columns, and the maps of its models."""
        if not isinstance(other, ModelSet) or self.cells != other.cells:
            return False
        if (self.columns, self.unknown) != (other.columns, other.unknown):
            return False
        pairs = zip(self.numbered, other.numbered, strict=False)
        return np.array_equal(self._model_of_key, other._model_of_key) and all(
            name == its_name and model.same_map(its_model) for (name, model), (its_name, its_model) in pairs
        )

    def __len__(self) -> int:
        return len(self.cells)

    def __iter__(self) -> Iterator[Key]:
        return iter(self.cells)

    def __contains__(self, key: object) -> bool:
        try:
            return self._find_one(key) >= 0
        except (InputError, InputTypeError):
            return False

    def _refuse_unknown(self, numbers: Int32s, cells: Any) -> None:
        """Raise InputError for the first key that has no model, if the set refuses unknown keys."""
        if self.unknown != "refuse" or not (numbers < 0).any():
            return
        at = int(np.argmax(numbers < 0))
        column = read_column(cells, "cells")
        given = cells if column is None else column
        cell = (given.tolist() if hasattr(given, "tolist") else list(given))[at]
        problem = f"is {cell!r}, which is none of the {len(self)} keys of this set"
        make = "make the set with ", by_name("unknown", "pool"), " and some cells that are thin"
        raise InputError(problem, ("score such rows by another model, or ", *make), argument="cells", at=at, value=cell)

    def _named(self, which: Any) -> BinnedModel:
        try:
            return self[which]
        except KeyError:
            problem = f"is {which!r}, which is none of the {len(self)} keys of this set"
            raise InputError(problem, "pass 'joint' for all models, or a key", argument="which", value=which) from None

    def __getitem__(self, key: Any) -> BinnedModel:
        number = self._find_one(key)
        if number < 0:
            raise KeyError(key)
        return self._model(number, BinnedModel)

    def get(self, key: Any, default: Any = None) -> Any:
        """The model of a key (the pool for a pooled one), or `default`."""
        number = self._find_one(key)
        return default if number < 0 else self._model(number, BinnedModel)

    # ------------------------------------------------------------------ scoring

    def find(self, cells: Any) -> Int32s:
        """int32 (n,): the number of the model of each row, as in `numbered`; -1 for unknown keys, where these are not refused.

        Parameters
        ----------
        cells : array-like of shape (n,)
            Keys; integer arrays of any dtype, texts, categorical columns of pandas or Arrow. The first that cannot be a key, or
            unknown where these are refused, raises an InputError with its position.
        """
        numbers = self._find(cells)
        if self.unknown == "refuse":
            self._refuse_unknown(numbers, cells)
        return numbers

    def predict(
        self, scores: Any, cells: Any, *, tie_keys: Any = None, seed: int | None = None, out: Any = None, nan: str = "error"
    ) -> Float64s:
        """Calibrated probabilities, each by the model of its cell.

        Parameters
        ----------
        scores : array-like of shape (n,)
        cells : array-like of shape (n,)
            The key of each row; see `find`.
        tie_keys, seed, out, nan
            As for `BinnedModel.predict`; `tie_keys` are tie keys.

        Returns
        -------
        float64 (n,), in the type of the scores as from `BinnedModel.predict`. O(n), and fastest for rows sorted by cell.

        Raises
        ------
        InputError
            For the first row with a bad score, or with an unknown cell where these are refused.
        """
        values = self._predict(self._numbers(scores, cells, tie_keys), scores, tie_keys, seed, out, nan)
        return values if out is not None else like(scores, values)

    def assign(self, scores: Any, cells: Any, *, tie_keys: Any = None, seed: int | None = None, nan: str = "error") -> Int32s:
        """int32 (n,): the bin of each score within its own model, -1 for unknown cells; arguments as in `predict`."""
        return like(scores, self._assign(self._numbers(scores, cells, tie_keys), scores, tie_keys, seed, nan))

    def assign_all(
        self, scores: Any, cells: Any, *, tie_keys: Any = None, seed: int | None = None, nan: str = "error"
    ) -> Int64s:
        """int64 (n,): the same, where the bins of all models are counted on (`first_bin`)."""
        numbers = self._numbers(scores, cells, tie_keys)
        bins = self._assign(numbers, scores, tie_keys, seed, nan)
        return like(scores, np.where(bins < 0, -1, self.first_bin[numbers] + bins))

    def _numbers(self, scores: Any, cells: Any, keys: Any) -> Int32s:
        """The models of the cells that stand beside these scores and keys."""
        check_same_index(scores=scores, cells=cells, tie_keys=keys)
        return self.find(cells)

    def _lookup(
        self, tables: Array, unknown: Any, names: tuple[str, str], scores: Any, cells: Any, keys: Any, seed: int | None,
        nan: str = "error",
    ) -> Any:  # fmt: skip
        """Rows of a table of all bins; the row `unknown` for unknown cells, NaN for scores that propagate it."""
        numbers = self._numbers(scores, cells, keys)
        bins = self._assign(numbers, scores, keys, seed, nan)
        rows = np.concatenate([tables, np.full((1, 2), np.nan), [unknown]])
        at = np.where(numbers < 0, len(tables) + 1, np.where(bins < 0, len(tables), self.first_bin[numbers] + bins))
        return like(scores, rows[at].astype(tables.dtype), names)

    @alpha_by_name
    def predict_interval(
        self, scores: Any, cells: Any, *, alpha: float = 0.1, bound: IntervalBound = "clopper-pearson",
        simultaneous: bool = True, at: At | None = None, tie_keys: Any = None, seed: int | None = None, nan: str = "error",
    ) -> Float64s:  # fmt: skip
        """float64 (n, 2): for each row the truth at its score, if it does not fall as the score rises; or that of its bin.

        As `BinnedModel.predict_interval`, for all models at once (see `interval`); [0, 1] for unknown cells.
        """
        asked = check_alpha(alpha), bound, simultaneous, at
        kept = self._intervals  # read once: threads may ask for different ones
        if kept[0] != asked:
            at = self._interval_at(at)
            rows = np.concatenate(self.interval(*asked[:3], at=at))
            self._intervals = kept = asked, self if at == "bin" else self._as_steps(), rows, NAMES_OF_ENDS[at]
        _, served, ends, names = kept
        return served._lookup(ends, (0.0, 1.0), names, scores, cells, tie_keys, seed, nan)

    def _as_steps(self) -> ModelSet:
        """The same maps with a bin for each step, and nothing else."""
        own = {key: self[key]._as_steps() for key in self.cells if key not in self.pooled_cells}
        pool = None if self.pool is None else self.pool._as_steps()
        return ModelSet._of(own, kind="given", unknown=self.unknown, pool=pool, pooled_cells=self.pooled_cells)

    def predict_set(
        self, scores: Any, cells: Any, *, alpha: float = 0.1, tie_keys: Any = None, seed: int | None = None
    ) -> Bools:
        """bool (n, 2): whether 0, and whether 1, is in the prediction set of each row (`BinnedModel.predict_set`), at alpha in
        every bin of every model; both for unknown cells."""
        from fastbin import guarantees

        tables = np.concatenate([guarantees.bin_sets(model._evidence(), alpha) for _, model in self.numbered])
        return self._lookup(tables, (1.0, 1.0), ("0", "1"), scores, cells, tie_keys, seed)

    # ------------------------------------------------------------------ evidence

    def interval(
        self, alpha: float = 0.1, bound: IntervalBound = "clopper-pearson", simultaneous: bool = True,
        which: Literal["joint"] | Key = "joint", *, at: At = "bin", side: str = "both",
    ) -> Any:  # fmt: skip
        """Intervals for the true positive rates in the bins of all models, or for the truth at the scores of their steps.

        Parameters
        ----------
        alpha, bound, simultaneous
            As for `BinnedModel.interval`. `simultaneous`: alpha bounds the chance that any interval of any model misses, and
            all bins with samples have equal shares of it (by Sidak; of a class-wise set, each class has an equal share).
        which : "joint" or a key
            With a key, the intervals of that model alone, at its own alpha.
        at, side
            As for `BinnedModel.interval`; at scores each model has its own share of alpha, and "unlabelled" needs a key.

        Returns
        -------
        list of float64 (n_bins, 2); with at="score" (n_steps, 2)
            One for each model, as in `numbered`; for a key the array of its model.
        """
        from fastbin import guarantees

        if which != "joint":
            return self._named(which).interval(alpha, bound, simultaneous, at=at, side=side)
        models, words = self._evidence()
        return guarantees.set_intervals(models, check_alpha(alpha), bound, simultaneous, at=at, side=side, **words)

    def certificate(
        self, alpha: float = 0.1, kind: str = "conditional", bound: str | None = None, which: Literal["joint"] | Key = "joint",
        *, about: str = "population", side: str = "both",
    ) -> SetCertificate | Certificate:  # fmt: skip
        """The guarantee about the values of all models at once.

        Parameters
        ----------
        alpha, kind, bound
            As for `BinnedModel.certificate`.
        which : "joint" or a key
            With a key, the certificate of that model alone, at its own alpha. (Of a cell that is called so: ``set["joint"]``.)
            That of a pooled key is about the pool, as its sentence says: nothing is known of the rows of the key by themselves.
        about, side
            As for `BinnedModel.certificate`.

        Returns
        -------
        SetCertificate; Certificate for one key; GuaranteeError if a model has none, naming its key
        """
        from fastbin import guarantees

        if which != "joint":
            alone = self._named(which).certificate(alpha, kind, bound, about=about, side=side)
            if self._find_one(which) != self._pool:
                return alone
            from fastbin.guarantees.simultaneous import about_pool

            return about_pool(alone, SET_KINDS[self.kind], self.n_models)
        models, words = self._evidence()
        return guarantees.certify_set(models, check_alpha(alpha), kind, bound, about=about, side=side, **words)

    def _evidence(self) -> tuple[list[BinnedModel], dict[str, Any]]:
        """The models, and what promises about them need to know of the set."""
        names, models = zip(*self.numbered, strict=True)
        words = {"names": list(names), "cells": SET_KINDS[self.kind], "class_wise": self.kind == "class-wise"}
        return list(models), words

    def __repr__(self) -> str:
        pooled = f", {len(self.pooled_cells)} of them pooled" if self.pooled_cells else ""
        bins, samples = how_many(self.n_bins, "bin"), how_many(self.n_samples, "sample")
        return f"ModelSet(kind={self.kind!r}, {how_many(len(self), 'key')}{pooled}, {bins}, {samples})"


def as_model(model: Any, name: str = "model") -> BinnedModel:
    """The model itself, or that of a fitted calibrator: whatever takes one takes the other.

    Raises
    ------
    InputTypeError
        For anything else, naming its type.
    NotFittedError
        For a calibrator that was not fitted.
    """
    from fastbin.guarantees.evidence import as_evidence, not_a_model  # not needed to score

    fitted = as_evidence(model, name)
    if not isinstance(fitted, BinnedModel):
        raise not_a_model(model, name)
    return fitted


def load(path: str | os.PathLike[str] | SupportsRead) -> BinnedModel | Any:
    """Read a file of a model, of a set of models, or of a vector model.

    Parameters
    ----------
    path : str, path-like, or binary file object

    Returns
    -------
    BinnedModel, ModelSet or VectorModel
        Whichever the file holds. To type checkers, a model, or anything: `ModelSet.load` and `BinnedModel.load` are typed.

    Raises
    ------
    OSError
        If the file cannot be read.
    FormatError
        If it is not a model, is damaged, or comes from a newer fastbin.

    Examples
    --------
    >>> import os, tempfile
    >>> import fastbin as fb
    >>> model = fb.ExplicitBinning(edges=[0.5]).fit([0.2, 0.7, 0.9], [0, 1, 1]).model_
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "credit.fbm")
    ...     model.save(path)
    ...     fb.load(path) == model
    True
    """
    return read_file(path, read)


def read(data: bytes | bytearray) -> BinnedModel | ModelSet | VectorModel:
    """The model, the set or the vector model in these bytes; FormatError as in `load`."""
    of_bytes: Any = {SET_MAGIC: ModelSet, VECTOR_MAGIC: VectorModel}.get(bytes(data[:4]), BinnedModel)
    made: BinnedModel | ModelSet | VectorModel = of_bytes.from_bytes(data)
    return made
