"""The one thing every method ends as: a step function with its evidence.

`BinnedModel` is immutable. Its memory belongs to the C library; the properties are read-only views of that memory, pickle
and files use the same bytes, and nothing is mirrored here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from fastbin._base.array_types import Bools, Float64s, Int64s
from fastbin._base.checks import ScoreRange, check_alpha, check_choice
from fastbin._base.errors import FormatError, GuaranteeError, InputError
from fastbin._base.frames import like
from fastbin._base.shown import how_many
from fastbin._base.signatures import alpha_by_name
from fastbin._core.fields import PARTS, DecisionParts, native_parts
from fastbin._core.schemes import (
    KINDS,
    MAPS,
    OUT_OF_RANGE,
    OUT_OF_RANGE_CODES,
    SCHEME_WORDS,
    SCHEMES,
    TIES,
    TIES_CODES,
    WEIGHTS,
    ClassRates,
    rates_of_parts,
)
from fastbin._core.score import NativeModel
from fastbin._model.parts import NAMES_OF_ENDS, At, Parts, Saved

if TYPE_CHECKING:
    from fastbin._base.cells import Key
    from fastbin._model.decision import Decision
    from fastbin.guarantees import Certificate


IntervalBound = Literal["clopper-pearson", "hoeffding", "empirical-bernstein", "wilson"]


# What is known of a Venn-Abers predictor, in place of a certificate.
OF_PAIRS = (
    "Venn-Abers guarantees that one of p0 and p1 is calibrated (Vovk & Petej 2014, Theorem 1), not how far its merged "
    "probability is from the truth; predict_venn gives the pair, and UniformMassBinning has a certificate"
)


class BinnedModel(Saved, NativeModel, Parts):
    """A calibrated step function: edges, one value per step, and a tally per bin.

    Not made directly: by `fit` of a calibrator (as its ``model_``), `fastbin.load`, `from_bytes` or `from_parts`. A sample with
    score s and key k lies at or above an edge exactly when ``s > edge or (s == edge and k >= edge_key)``; its step is the
    number of such edges, from 0. A bin is a run of steps: of one step, unless the model has two resolutions.

    Attributes
    ----------
    edges : float64 (n_steps - 1,)
    edge_keys : uint64 (n_steps - 1,)
    values : float64 (n_steps,)
    counts, label_sums : int64 (n_bins,), or None for a model without a tally
    weight_sums, weighted_label_sums, weight_square_sums : float64 (n_bins,), or None for an unweighted model
    n_bins, n_steps, n_bins_asked, n_samples, n_positive, n_tied, seed : int
    delta, odds_ratio : float
    pairs : float64 (n_steps, 2), or None
    fingerprint : int
    first_step : int64 (n_bins,)
    step_counts, unlabelled_counts : int64 (n_steps,), or None
    tie_counts, atom_counts : int64 (n_bins, 3) and (n_bins, 2), or None
    bin_edges, bin_edge_keys, bin_values : arrays of n_bins - 1 and n_bins
    edges_share, clip : float
    knots : float64 (k, 3), or None
    slice_cuts, slice_label_sums : float64 (s - 1,) and int64 (s,), or None
    pool_counts, population_counts : int64 (n_bins,), or None
    sampling_rate : float
    event : str
    provenance : dict, or None
    decision : Decision, or None

    Notes
    -----
    Safe to share between threads. Scoring needs NumPy alone.
    """

    is_set: Literal[False] = False

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
        pairs: Any = None,
        rates: ClassRates | None = None,
        out_of_range: str = "refuse",
        weights: str = "given",
        fingerprint: int = 0,
        first_step: Any = None,
        step_counts: Any = None,
        unlabelled_counts: Any = None,
        tie_counts: Any = None,
        atom_counts: Any = None,
        edges_share: float = 0.0,
        clip: float = 0.0,
        knots: Any = None,
        slice_cuts: Any = None,
        slice_label_sums: Any = None,
        event: str = "",
        provenance: Any = None,
        sampling_rate: float = 0.0,
        pool_counts: Any = None,
        population_counts: Any = None,
        decision: Any = None,
    ) -> BinnedModel:
        """A model from its parts, all of which are checked.

        Parameters
        ----------
        edges, values, counts, label_sums, edge_keys, weight_sums, weighted_label_sums, weight_square_sums : array-like
            As the attributes of these names; None where there is none. Integers where counts or keys are meant: nothing is
            rounded or converted that would lose digits.
        scheme, ties, kind, n_bins_asked, n_samples, n_positive, n_tied, score_range, delta, odds_ratio, seed, note : optional
            As the attributes of these names. Without n_samples and n_positive those of the tally are taken.
        map, map_parameters : str and tuple of float
            The smooth map of a model without bins; else evidence of what came before the bins. At most 4 parameters.
        pairs : array-like of shape (n_steps, 2), optional
            The Venn pair of each step.
        rates : ClassRates, optional
            How the class rates that moved the values are known; with `odds_ratio`.
        out_of_range : {"refuse", "clip"}
            What a finite score outside `score_range` does.
        weights : {"given", "estimated"}
            How the weights of a weighted model are known.
        fingerprint : int
            Of the samples of the fit; 0 for none.
        first_step, step_counts, unlabelled_counts, tie_counts, atom_counts, edges_share, clip, knots : optional
            As the attributes of these names. `first_step` and `step_counts` make a model of two resolutions, whose `counts`,
            `label_sums`, weight sums, `tie_counts` and `atom_counts` have one entry for each bin, and the others one for each
            step.
        slice_cuts, slice_label_sums : optional
            As the attributes: what `certificate(kind="mean-error")` rests on. s slices have their cuts at the samples of rank
            ceil(b (n_samples + 1) / s).
        event : str
            The name of the event that the values are the probability of; at most 256 bytes in UTF-8, "" for label 1.
        provenance : dict, optional
            As the attribute. What it says of the model must agree with the other parts.
        sampling_rate : float, from 0 to 1
            The known rate at which samples with label 0 were kept, by which the values were moved: `odds_ratio` is the same
            number. 0 for none.
        pool_counts, population_counts : optional
            As the attributes: the rows that the labelled ones of each bin were drawn from, bin by bin, and the rows of a batch
            of known size; at least `counts`.
        decision : Decision, optional
            Of `fastbin.decide`: what the model accepts, and what it rejects.

        Raises
        ------
        InputError, InputTypeError
            If edges are not ascending and finite, values not in [0, 1], label sums not between 0 and the counts, ...
        """
        native = native_parts(**{name: given for name, given in locals().items() if name not in ("cls", "provenance")})
        if provenance is not None:
            from fastbin._model.provenance import OF_MODEL, text_of

            native["provenance"] = text_of(provenance, **{name: native[name] for name in OF_MODEL} | {"event": event})
        return cls._create(**native)

    @classmethod
    def _of(
        cls, *, scheme: str = "other", ties: str = "none", score_range: ScoreRange, out_of_range: str = "refuse", **parts: Any
    ) -> BinnedModel:
        """As `from_parts` for parts that a fit has made, in the types and lengths that C takes: C checks the rest."""
        low, high = (-np.inf, np.inf) if score_range is None else score_range
        return cls._create(
            scheme=SCHEMES[scheme].code, ties=TIES_CODES[ties], score_min=low, score_max=high,
            out_of_range=OUT_OF_RANGE_CODES[out_of_range], **parts,
        )  # fmt: skip

    def _replace(self, **changes: Any) -> BinnedModel:
        """This model with some of its parts changed, by the names of `from_parts`."""
        word, parameters = self.map
        parts: dict[str, Any] = {name: getattr(self, name) for name in PARTS}
        more: dict[str, Any] = {"map": word, "map_parameters": parameters, "provenance": self._provenance}
        more["decision"] = DecisionParts(*self._decision) if self._decision[2] else None
        return BinnedModel.from_parts(**{**parts, **more, **changes})

    def _derived(self, function: str, said: dict[str, Any] | None = None, **changes: Any) -> BinnedModel:
        """The same by a function, which is added to the provenance, with these of its arguments."""
        from fastbin._model.provenance import with_step

        return self._replace(**changes, provenance=with_step(self._provenance, function, **said or {}))

    def with_out_of_range(self, out_of_range: str) -> BinnedModel:
        """The same model with another policy for finite scores outside its range.

        Parameters
        ----------
        out_of_range : {"refuse", "clip"}
            "refuse": an error that names the row. "clip": the score is taken as the end of the range next to it. The policy
            is part of the model: it is saved, and C follows it. Infinite scores are refused in any case, and NaN but for
            ``nan="propagate"``.

        Returns
        -------
        BinnedModel

        Examples
        --------
        >>> import fastbin as fb
        >>> model = fb.FixedWidthBinning(n_bins=2).fit([0.1, 0.4, 0.7], [0, 0, 1]).model_
        >>> model.with_out_of_range("clip").predict([-0.5, 1.5])
        array([0., 1.])
        """
        policy = check_choice(out_of_range, "out_of_range", tuple(OUT_OF_RANGE_CODES))
        return self if policy == self.out_of_range else self._derived("with_out_of_range", out_of_range=policy)

    def with_decision(self, decision: Any) -> BinnedModel:
        """The same model with a decision that it carries: it is saved with the model, and `decide` follows it.

        Parameters
        ----------
        decision : Decision or None
            Of `fastbin.decide`, about the scores that this model takes; None takes one away.

        Returns
        -------
        BinnedModel

        Raises
        ------
        InputError, InputTypeError
            For what is not a decision, one whose bands overlap, or one about another event than that of the model, where both
            have a name.
        GuaranteeError
            For a model that was moved to another population than its rows, by `sampling_rate` or label shift.

        Notes
        -----
        The decision is about scores, and holds for the model whose scores it was found on. The models of a set keep their own.

        Examples
        --------
        >>> import fastbin as fb
        >>> scores = [i / 1000 for i in range(1000)]
        >>> labels = [score > 0.6 for score in scores]
        >>> model = fb.UniformMassBinning(n_bins=2).fit(scores, labels).model_
        >>> model = model.with_decision(fb.decide.accept_threshold(scores, labels, precision=0.9, npv=0.9))
        >>> model.decide([0.3, 0.99]), model.decision.precision
        (array([-1,  1], dtype=int8), 0.9)
        """
        if decision is not None and (self.sampling_rate or self.odds_ratio != 1.0):
            raise GuaranteeError(
                "the values are those of another population than that of the rows of the fit, and the promise of a decision is "
                "about rows such as it was found on; find it on rows of that population, and serve it alone (decision.decide)"
            )
        made = self._derived("with_decision", decision=decision)
        event = str(getattr(decision, "event", ""))
        if event and self.event and event != self.event:
            problem = f"is about {event!r}, and the model gives the probability of {self.event!r}"
            raise InputError(problem, "find it on labels of the event of the model", argument="decision")
        return made

    @property
    def decision(self) -> Decision | None:
        """The decision that the model carries, and `decide` follows; ``None`` without one."""
        above, below, record = self._decision
        if not record:
            return None
        from fastbin._model.decision import Decision

        decision = Decision.from_json(record)
        if (decision.accept_above, decision.reject_below) != (above, below):
            problem = f"the model accepts above {above!r} and rejects below {below!r}, and its record says others"
            raise FormatError(f"{problem}; give the model its decision again by with_decision")
        return decision

    def same_map(self, other: BinnedModel) -> bool:
        """Whether another model gives every score and key the same probability, and the same Venn pair.

        Compared are edges and their keys, values, pairs, the map of a smooth model, the range of scores with what happens
        outside, and `delta`; not the evidence, the event or the provenance, which ``==`` compares as well.
        """
        names = ["kind", "score_range", "out_of_range", "delta", "edges", "edge_keys", "values", "pairs"]
        names += ["map", "clip", "knots"] if self.kind == "smooth" else []
        return isinstance(other, BinnedModel) and all(_is_same(getattr(self, name), getattr(other, name)) for name in names)

    # ------------------------------------------------------------------ words

    @property
    def kind(self) -> str:
        """One of "step", "linear" (interpolated isotonic regression) or "smooth" (a map alone)."""
        return KINDS[self._codes[0]]

    @property
    def scheme(self) -> str:
        """How the partition and the values came about: "umd", "ze", "ums", "umb", "fixed-width", ..."""
        return SCHEME_WORDS.get(self._codes[1], "other")

    @property
    def ties(self) -> str:
        """The rule of the fit for equal scores: "whole", "random", "upper", "lower", "isolate" or "none"."""
        return TIES[self._codes[2]]

    @property
    def map(self) -> tuple[str, tuple[float, ...]]:
        """The smooth map and its parameters: the model itself if it is smooth, else evidence of what came before the bins."""
        return MAPS[self._codes[3]], self._map_parameters

    @property
    def note(self) -> str:
        """Free text that came with the model."""
        return str(self._note.decode("utf8", errors="replace"))

    @property
    def out_of_range(self) -> str:
        """The policy for a finite score outside the range: "refuse" or "clip"; see `with_out_of_range`."""
        return OUT_OF_RANGE[self._policies[0]]

    @property
    def weights(self) -> str:
        """How the weights of a weighted model are known: "given" or "estimated". "given" without weights."""
        return WEIGHTS[self._policies[1]]

    @property
    def rates(self) -> ClassRates | None:
        """The class rates by which label shift moved the values, and how they are known; ``None`` where none did."""
        return rates_of_parts(self._rate_parts)

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
    def falls(self) -> Int64s:
        """int64: the steps (from 0) after which the value falls, though scores rise; empty for a monotone model.

        Noise alone makes values fall: those of 10 bins of equal mass in one place or so, of 20 in five. Where that is not
        wanted, fit with ``monotone=True``, or see `fastbin.monotone_model`.
        """
        return np.flatnonzero(np.diff(self.values) < 0.0) if self.kind == "step" else np.zeros(0, np.int64)

    # ------------------------------------------------------------------ evidence

    @property
    def numbered(self) -> list[tuple[Key | None, BinnedModel]]:
        """This model, which has no key: the only one, where the models of a set are several."""
        return [(None, self)]

    def interval(
        self, alpha: float = 0.1, bound: IntervalBound = "clopper-pearson", simultaneous: bool = True, *,
        at: At | Literal["unlabelled"] = "bin", side: str = "both",
    ) -> Float64s:  # fmt: skip
        """An interval for the true positive rate of each bin, or for the truth at the scores of each step.

        Parameters
        ----------
        alpha : float, from 1e-100 to 1/2
            The chance that an interval misses.
        bound : {"clopper-pearson", "hoeffding", "empirical-bernstein", "wilson"}
            Wilson's is approximate: no guarantee rests on it.
        simultaneous : bool
            Whether alpha bounds the chance that *any* interval misses (Sidak over the bins where they are independent), or
            each one's.
        at : {"bin", "score", "unlabelled"}
            "unlabelled", for a batch of known size: the share of label 1 among the rows of the bin without a label. "score": if
            the truth does not fall as the score rises, the true probability at every score at once, and the value that is
            served there, lie in the interval of its step. By "clopper-pearson", and simultaneous.
        side : {"both", "upper", "lower"}
            "upper": all of alpha is for upper ends, and lower ends are 0; "lower" mirrored. Not with at="score".

        Returns
        -------
        float64 (n_bins, 2); with at="score" (n_steps, 2)
            Lower and upper ends; [0, 1] for a bin without samples. In a model of two resolutions those of bins are about the
            bin's rate, not about the value of a step: an end may lie between the values that the bin serves. At scores [0, 1]
            for fits to fewer than 20 samples.

        Raises
        ------
        GuaranteeError
            For models whose tally does not support one.
        """
        from fastbin import guarantees

        return guarantees.interval(self._evidence(), check_alpha(alpha), bound, simultaneous, at=at, side=side)

    def certificate(
        self, alpha: float = 0.1, kind: str = "conditional", bound: str | None = None, *, about: str = "population",
        of: Any = None, unlabelled: Any = None, side: str = "both",
    ) -> Certificate:  # fmt: skip
        """The guarantee about the values, in words and numbers.

        Parameters
        ----------
        alpha : float, from 1e-100 to 1/2
            The chance that the promise fails.
        kind : {"conditional", "marginal", "expected-ece", "ece", "ratio", "mean-error", "mean-overestimate", \
"mean-underestimate"}
            "conditional": every value is within epsilon of the truth. "marginal": the value of a random new sample is.
            "ece": the l1 expected calibration error is at most epsilon. "expected-ece": its mean over data sets is. "ratio",
            for rare events: every value is within a factor of epsilon of the truth. In models with steps inside their bins all
            these are about the average that is served in a bin, and say nothing of single values. "mean-error": if the truth
            does not fall as the score rises, a prediction is on average within epsilon of the true probability at its score;
            "mean-overestimate" and "mean-underestimate" count what is above it alone, or below.
        bound : {"common", "clopper-pearson", "hull", "data", "slices", "a-priori", "hoeffding"}, optional
            "common", the default of "conditional" where up to 100 bins have one value each and no scores tie at their edges, is
            one radius around the mean labels of all bins; "clopper-pearson", else its default and that of "marginal", rests on
            the binomial distribution of this model's tally; "hull", for the same kinds, is about 1 / count larger and holds
            for any distribution of scores; "data", the default of "ece", rests on its values; "a-priori" is what is known
            before any label is seen, the default of "expected-ece"; "hoeffding" the papers' closed formulas. Choose before
            looking at the results.
        about : {"population", "calibration rows", "batch"}
            Whose true frequency the values are compared with. "batch": the rows of a batch of known size, of which all promises
            of `fit(..., population=)` speak. "calibration rows", for audits: the average that the calibration rows of a bin are
            served, and the average of their true probabilities; these rows need not be draws of a population. Also for
            "mean-error", over the rows between the cuts of slices.
        of : BinnedModel or fitted calibrator, optional
            For the mean errors: another map that does not fall, fitted in any way, which the labels of this model certify.
        unlabelled : array-like of shape (m,), optional
            For the mean errors: other scores of the population, without labels. More of them than calibration samples narrow
            the promise.
        side : {"both", "upper", "lower"}
            "upper": no true frequency is above its value by more than epsilon; "lower": none is below it by more. All of alpha
            is for that side. For "conditional", "marginal" and "ratio" (docs/guarantees.md, Theorem F28).

        Returns
        -------
        Certificate

        Raises
        ------
        GuaranteeError
            If the bound, the ties or the weights do not support it; the message cites the theorem.
        """
        from fastbin import guarantees

        return guarantees.certify(
            self._evidence(), alpha=check_alpha(alpha), kind=kind, bound=bound, about=about, of=of, unlabelled=unlabelled,
            side=side,
        )  # fmt: skip

    def _evidence(self) -> BinnedModel:
        """This model, where it has a tally to reason from."""
        if self.pairs is not None:
            raise GuaranteeError(OF_PAIRS)
        if self.counts is None and self.scheme in ("other", "explicit"):
            raise GuaranteeError("this model carries no tally (counts and label sums), so nothing can be certified from it")
        return self

    # ------------------------------------------------------------------ scoring beyond the value

    @alpha_by_name
    def predict_interval(
        self, scores: Any, *, alpha: float = 0.1, bound: IntervalBound = "clopper-pearson", simultaneous: bool = True,
        at: At | None = None, tie_keys: Any = None, seed: int | None = None, nan: str = "error",
    ) -> Float64s:  # fmt: skip
        """float64 (n, 2): for each score the truth there, if it does not fall as the score rises; or that of its bin.

        By default at="score" where values are finer than bins, as those of `CertifiedCalibration`: the interval holds what is
        served, too. At="bin" elsewhere, which needs no such assumption and is about the average in the bin. Other arguments as
        in `interval` and `predict`. After a fit with population= it is about the rows of that batch, at any scores.
        With a column of a data frame or of Arrow, a table with columns "lower_if_rising" and "upper_if_rising", or "lower" and
        "upper".
        """
        at = self._interval_at(at)
        rows = self.interval(alpha, bound, simultaneous, at=at)
        served = self if at == "bin" else self._as_steps()
        return like(scores, served.lookup(scores, rows, tie_keys=tie_keys, seed=seed, nan=nan), NAMES_OF_ENDS[at])

    def _as_steps(self) -> BinnedModel:
        """The same map with a bin for each step, and nothing else."""
        return BinnedModel._of(
            edges=self.edges, edge_keys=self.edge_keys, values=self.values, score_range=self.score_range,
            out_of_range=self.out_of_range,
        )  # fmt: skip

    def predict_set(self, scores: Any, *, alpha: float = 0.1, tie_keys: Any = None, seed: int | None = None) -> Bools:
        """Prediction sets for the labels: conformal prediction within the bin of each score.

        Parameters
        ----------
        scores, tie_keys, seed
            As in `predict`.
        alpha : float, from 1e-100 to 1/2
            In every bin, the label of a new sample is outside its set with probability at most alpha.

        Returns
        -------
        bool (n, 2)
            Whether 0 is in the set, and whether 1 is. For a column of a data frame or of Arrow, a table with columns "0" and
            "1".

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
        return like(scores, self.lookup(scores, table, tie_keys=tie_keys, seed=seed).astype(np.bool_), ("0", "1"))

    def __repr__(self) -> str:
        bins = how_many(self.n_bins, "knot" if self.kind == "linear" else "bin")
        bins += f", {how_many(self.n_steps, 'step')}" if self.has_steps else ""
        return f"BinnedModel(scheme={self.scheme!r}, {bins}, {how_many(self.n_samples, 'sample')})"


def _is_same(one: Any, other: Any) -> bool:
    return np.array_equal(one, other) if isinstance(one, np.ndarray) else bool(np.all(one == other))
