"""The one thing every method ends as: a step function with its evidence.

`BinnedModel` is immutable. Its memory belongs to the C library; the properties are read-only views of that memory, pickle
and files use the same bytes, and nothing is mirrored here.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from fastbin._errors import FormatError, GuaranteeError, InputError
from fastbin._files import replace_file
from fastbin._native.model import NativeModel
from fastbin._parts import KINDS, MAPS, SCHEMES, TIES, check_columns, code_of, total
from fastbin._validation import ScoreRange, as_key_array, as_scores, check_alpha, check_seed, refuse_kind, refuse_scores

if TYPE_CHECKING:
    from fastbin.guarantees import Certificate

__all__ = ["BinnedModel", "load"]

Array = npt.NDArray[Any]
IntervalMethod = Literal["clopper-pearson", "hoeffding", "empirical-bernstein", "wilson"]


class BinnedModel(NativeModel):
    """A calibrated step function: edges, one value per bin, and the tally that each value came from.

    Not made directly: by `fit` of a calibrator (as its ``model_``), `load`, `from_bytes` or `from_parts`. A sample with
    score s and key k lies at or above an edge exactly when ``s > edge or (s == edge and k >= edge_key)``; its bin is the
    number of such edges, from 0.

    Attributes
    ----------
    edges : float64 (n_bins - 1,)
    edge_keys : uint64 (n_bins - 1,)
    values : float64 (n_bins,)
    counts, label_sums : int64 (n_bins,), or None for a model without a tally
    weight_sums, weighted_label_sums, weight_square_sums : float64 (n_bins,), or None for an unweighted model
    n_bins, n_bins_asked, n_samples, n_positive, n_tied, seed : int
    delta, odds_ratio : float

    Notes
    -----
    Safe to share between threads. Scoring needs NumPy alone.
    """

    @classmethod
    def from_parts(
        cls,
        *,
        edges: Any,
        values: Any,
        counts: Any = None,
        label_sums: Any = None,
        edge_keys: Any = None,
        scheme: str = "other",
        ties: str = "none",
        kind: str = "step",
        weight_sums: Any = None,
        weighted_label_sums: Any = None,
        weight_square_sums: Any = None,
        n_bins_asked: int = 0,
        n_samples: int | None = None,
        n_positive: int | None = None,
        n_tied: int = 0,
        score_range: ScoreRange = (0.0, 1.0),
        delta: float = 0.0,
        odds_ratio: float = 1.0,
        seed: int = 0,
        map: str = "none",
        map_parameters: tuple[float, ...] = (),
        note: str = "",
    ) -> BinnedModel:
        """A model from its parts, all of which are checked.

        Raises
        ------
        InputError
            If edges are not ascending and finite, values not in [0, 1], label sums not between 0 and the counts, ...
        """

        columns = check_columns(
            kind, edges=edges, edge_keys=edge_keys, values=values, counts=counts, label_sums=label_sums,
            weight_sums=weight_sums, weighted_label_sums=weighted_label_sums, weight_square_sums=weight_square_sums,
        )  # fmt: skip
        low, high = score_range if score_range is not None else (-np.inf, np.inf)
        return cls._create(
            **columns,
            kind=code_of("kind", kind),
            scheme=code_of("scheme", scheme),
            ties=code_of("ties", ties),
            map=code_of("map", map),
            map_parameters=tuple(map_parameters),
            n_bins_asked=n_bins_asked,
            n_samples=total(columns["counts"]) if n_samples is None else n_samples,
            n_positive=total(columns["label_sums"]) if n_positive is None else n_positive,
            n_tied=n_tied,
            score_min=low,
            score_max=high,
            delta=delta,
            odds_ratio=odds_ratio,
            seed=seed,
            note=note.encode(),
        )

    # ------------------------------------------------------------------ words

    @property
    def kind(self) -> str:
        """One of "step", "linear" (interpolated isotonic regression) or "smooth" (a map alone)."""
        return KINDS[self._codes[0]]

    @property
    def scheme(self) -> str:
        """How the partition and the values came about: "umd", "ze", "ums", "umb", "fixed-width", ..."""
        return SCHEMES.get(self._codes[1], "other")

    @property
    def ties(self) -> str:
        """What the fit did about equal scores: "random", "upper", "lower", "isolate" or "none"."""
        return TIES[self._codes[2]]

    @property
    def map(self) -> tuple[str, tuple[float, ...]]:
        """The smooth map and its parameters: the model itself if it is smooth, else evidence of what came before the bins."""
        return MAPS[self._codes[3]], self._map_parameters

    @property
    def score_range(self) -> ScoreRange:
        """(low, high) that scores must lie in, or ``None`` where any finite score is welcome."""
        low, high = self._score_limits
        return None if low == -np.inf and high == np.inf else (low, high)

    @property
    def note(self) -> str:
        """Free text that came with the model."""
        return str(self._note.decode("utf8", errors="replace"))

    @property
    def is_weighted(self) -> bool:
        """Whether the values are weighted means (importance weights)."""
        return self.weight_sums is not None

    @property
    def randomised_mass(self) -> float:
        """The share of the fitted samples whose bin was decided by a key; about the share of new scores that will be."""
        if self.ties not in ("random", "isolate") or self.n_samples == 0:
            return 0.0
        return float(self.n_tied / self.n_samples)

    @property
    def falls(self) -> npt.NDArray[np.int64]:
        """int64: the bins (from 0) after which the value falls, though scores rise; empty for a monotone model.

        Noise alone makes values fall: those of 10 bins of equal mass in one place or so, of 20 in five. Where that is not
        wanted, fit with ``monotone=True``, or see `fastbin.monotone_model`.
        """
        return np.flatnonzero(np.diff(self.values) < 0.0) if self.kind == "step" else np.zeros(0, np.int64)

    # ------------------------------------------------------------------ evidence

    def interval(
        self, alpha: float = 0.1, method: IntervalMethod = "clopper-pearson", simultaneous: bool = True
    ) -> npt.NDArray[np.float64]:
        """An interval for the true positive rate of each bin.

        Parameters
        ----------
        alpha : float, from 1e-100 to 1/2
            The chance that an interval misses.
        method : {"clopper-pearson", "hoeffding", "empirical-bernstein", "wilson"}
            Wilson's is approximate: no guarantee rests on it.
        simultaneous : bool
            Whether alpha bounds the chance that *any* interval misses (Sidak over the bins where they are independent), or
            each one's.

        Returns
        -------
        float64 (n_bins, 2)
            Lower and upper ends; [0, 1] for a bin without samples.

        Raises
        ------
        GuaranteeError
            For models whose tally does not support one.
        """
        from fastbin import guarantees

        return guarantees.interval(self._evidence(), alpha=check_alpha(alpha), method=method, simultaneous=simultaneous)

    def certificate(self, alpha: float = 0.1, kind: str = "conditional", bound: str | None = None) -> Certificate:
        """What is guaranteed about the values, in words and numbers.

        Parameters
        ----------
        alpha : float, from 1e-100 to 1/2
            The chance that the promise fails.
        kind : {"conditional", "marginal", "expected-ece", "ece"}
            "conditional": every value is within epsilon of the truth. "marginal": the value of a random new sample is.
            "ece": the l1 expected calibration error is at most epsilon. "expected-ece": its mean over data sets is.
        bound : {"clopper-pearson", "data", "a-priori", "hoeffding"}, optional
            "clopper-pearson", the default of "conditional" and "marginal", rests on the binomial distribution of this model's
            tally, "data", the default of "ece", on its values; "a-priori" is what is known before any label is seen, the
            default of "expected-ece"; "hoeffding" the papers' closed formulas. Choose before looking at the results.

        Returns
        -------
        Certificate

        Raises
        ------
        GuaranteeError
            If the method, the ties or the weights do not support it; the message cites the theorem.
        """
        from fastbin import guarantees

        return guarantees.certify(self._evidence(), alpha=check_alpha(alpha), kind=kind, bound=bound)

    def _evidence(self) -> BinnedModel:
        """This model, where it has a tally to reason from."""
        if self.counts is None and self.scheme in ("other", "explicit"):
            raise GuaranteeError("this model carries no tally (counts and label sums), so nothing can be certified from it")
        return self

    # ------------------------------------------------------------------ scoring beyond the value

    def predict_interval(
        self,
        scores: Any,
        *,
        alpha: float = 0.1,
        method: IntervalMethod = "clopper-pearson",
        simultaneous: bool = True,
        keys: Any = None,
        seed: int | None = None,
        nan: str = "error",
    ) -> npt.NDArray[np.float64]:
        """float64 (n, 2): for each score the interval of its bin; arguments as in `interval` and `predict`."""
        return self.lookup(scores, self.interval(alpha, method, simultaneous), keys=keys, seed=seed, nan=nan)

    def predict_set(
        self, scores: Any, *, alpha: float = 0.1, keys: Any = None, seed: int | None = None
    ) -> npt.NDArray[np.bool_]:
        """Prediction sets for the labels: conformal prediction within the bin of each score.

        Parameters
        ----------
        scores, keys, seed
            As in `predict`.
        alpha : float, from 1e-100 to 1/2
            In every bin, the label of a new sample is outside its set with probability at most alpha.

        Returns
        -------
        bool (n, 2)
            Whether 0 is in the set, and whether 1 is.

        Raises
        ------
        GuaranteeError
            For models whose tally does not support it.

        Notes
        -----
        Given the edges, the samples of a bin and the next sample that falls there are exchangeable; see
        `fastbin.guarantees.bin_sets`. The intersection of an interval with {0, 1} (Gupta, Podkopaev & Ramdas 2020, Theorem 2)
        would be wrong here: a binned model's values have atoms.
        """
        from fastbin import guarantees

        table = guarantees.bin_sets(self._evidence(), alpha).astype(np.float64)
        return self.lookup(scores, table, keys=keys, seed=seed).astype(np.bool_)

    # ------------------------------------------------------------------ bytes

    @classmethod
    def from_bytes(cls, data: bytes | bytearray | memoryview) -> BinnedModel:
        """The model in these bytes, as `to_bytes` made them.

        Raises
        ------
        FormatError
            If they are foreign, damaged, truncated or of a newer format; the message says which.
        """
        return cls._read(memoryview(data).cast("B") if len(data) else b"")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file, under a temporary name that is renamed when all is written."""
        replace_file(path, lambda file: file.write(self.to_bytes()))

    def __reduce__(self) -> tuple[Callable[[bytes], BinnedModel], tuple[bytes]]:
        return type(self).from_bytes, (self.to_bytes(),)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BinnedModel) and self.to_bytes() == other.to_bytes()

    def __hash__(self) -> int:
        return hash(self.to_bytes())

    def __repr__(self) -> str:
        bins = f"{self.n_bins} knots" if self.kind == "linear" else f"{self.n_bins} bins"
        return f"BinnedModel(scheme={self.scheme!r}, {bins}, {self.n_samples} samples)"

    # ------------------------------------------------------------------ what NativeModel asks for

    def _coerce_rows(self, scores: Any, keys: Any) -> tuple[Array, npt.NDArray[np.uint64] | None]:
        array = as_scores(scores)
        if not array.dtype.isnative:
            array = array.astype(array.dtype.newbyteorder("="))
        array = array.view(np.ndarray)
        return array, None if keys is None else as_key_array(keys, array.shape[0])

    def _refuse_row(self, scores: Array, position: int) -> None:
        refuse_scores(scores, self.score_range, first=position)

    def _refuse_score(self, score: float) -> None:
        refuse_scores(np.array([score]), self.score_range, name="score")

    def _refuse_kind(self, score: Any) -> None:
        refuse_kind(score)

    def _check_key(self, key: Any) -> int:
        if isinstance(key, (bool, np.bool_)) or not isinstance(key, (int, np.integer)) or not 0 <= key < 2**64 - 1:
            raise InputError(f"key is {key!r}; it must be an integer in [0, 2**64 - 2]")
        return int(key)

    def _check_seed(self, seed: Any) -> int:
        return check_seed(seed)


def load(path: str | os.PathLike[str]) -> BinnedModel:
    """Read a model file.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    BinnedModel

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
    data = Path(path).read_bytes()
    try:
        return BinnedModel.from_bytes(data)
    except FormatError as error:
        raise FormatError(f"{os.fspath(path)}: {error}") from None
