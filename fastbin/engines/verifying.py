"""Do these rows give this model? They are fitted again by the configuration that the model states, and its bytes compared."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np

from fastbin._base import html
from fastbin._base.checks import check_choice, check_same_event
from fastbin._base.errors import InputError, InputTypeError, Wording, without_warnings
from fastbin._base.shown import how_many, printable
from fastbin._base.table import Columns, Table
from fastbin._core.fields import PARTS
from fastbin._fit.calibrator import Calibrator, Estimator, as_model_or_set
from fastbin._fit.rows import Progress
from fastbin._model.provenance import in_words, stated_by
from fastbin.engines.fitting import fit_columns
from fastbin.guarantees.certificate import name_cell
from fastbin.model import BinnedModel
from fastbin.model_set import ModelSet
from fastbin.multi.segmented import SegmentedBinning
from fastbin.tables.frames import Names
from fastbin.tables.opening import ENGINES
from fastbin.vector_model import VectorModel, as_vector_model

AnyModel = BinnedModel | ModelSet | VectorModel

# Where the calibrators are whose fits can be repeated from their configuration and rows alone.
CALIBRATORS = {
    "CertifiedCalibration": "fastbin.binning.certified", "UniformMassBinning": "fastbin.binning.uniform_mass",
    "FixedWidthBinning": "fastbin.binning.fixed", "ExplicitBinning": "fastbin.binning.fixed",
    "ScalingBinning": "fastbin.binning.scaling_binning", "IsotonicCalibration": "fastbin.binning.isotonic",
    "VennAbers": "fastbin.binning.venn", "SegmentedBinning": "fastbin.multi.segmented",
    "TopLabelBinning": "fastbin.multi.classes", "ClassWiseBinning": "fastbin.multi.classes",
    "VectorCalibration": "fastbin.multi.vectors",
    **{f"{name}Scaling": "fastbin.scaling.maps" for name in ("Platt", "Temperature", "Beta", "Quadratic", "Spline")},
}  # fmt: skip

# Differences that are listed, of which the first is the one to look at.
MOST_DIFFERENCES = 20

PASS_CALIBRATOR = Wording("pass calibrator=, configured as it was", "use fb.engines.verify_data, and its calibrator=")
INFINITE = {"inf": math.inf, "-inf": -math.inf}


class Difference(NamedTuple):
    """One thing in which the model and the fit of the rows differ."""

    what: str
    of_model: str
    of_rows: str


@dataclass(frozen=True, eq=False)
class DataCheck(Table):
    """Whether rows give a model; made by `verify_data`. ``str()`` says it in a sentence; as a frame, its differences.

    Attributes
    ----------
    is_same : bool
        Whether the bytes are the same.
    differences : tuple of (what, of_model, of_rows)
        In the order in which one leads to the next: rows, positives, fingerprint, event, configuration, version, then the
        parts of the model. At most 20; empty where the bytes are the same.
    sha256, sha256_of_rows : str
        Of the bytes of the model, and of those that the rows give.
    n_samples : int
        Samples that were fitted again, repetitions included; of several classes, those of all models.
    made_by : str
        The configuration, the seed and the version, in one line.
    """

    is_same: bool
    differences: tuple[Difference, ...]
    sha256: str
    sha256_of_rows: str
    n_samples: int
    made_by: str

    def _columns(self) -> Columns:
        return {name: [getattr(each, name) for each in self.differences] for name in Difference._fields}

    def to_dict(self) -> dict[str, Any]:
        """The check as plain dicts, lists, strings and numbers, ready for JSON."""
        names = ("is_same", "sha256", "sha256_of_rows", "n_samples", "made_by")
        return {
            "sentence": self.sentence, **{name: getattr(self, name) for name in names},
            "differences": [each._asdict() for each in self.differences],
        }  # fmt: skip

    def _about(self) -> str:
        return self.sentence

    @property
    def sentence(self) -> str:
        """The outcome in one sentence, without its full stop."""
        if self.is_same:
            gave = how_many(self.n_samples, "sample", "gives", "give")
            return f"The same bytes: the {gave} the model with the SHA-256 {self.sha256}"
        what, of_model, of_rows = self.differences[0]
        return f"Other bytes: the first difference is in {what}, {of_model} in the model and {of_rows} from these rows"

    def __str__(self) -> str:
        return f"{printable(self.sentence)}." if self.is_same else super().__str__()

    def _repr_html_(self) -> str:
        return html.notebook(html.paragraph(f"{self.sentence}.")) if self.is_same else super()._repr_html_()


def verify_data(
    model: Any, table: Any = None, *, score: Any, label: Any, weight: Any = None, segment: Any = None, positive: Any = None,
    calibrator: Any = None, engine: str = "auto", progress: Progress | None = None,
) -> DataCheck:  # fmt: skip
    """Fit rows again as the provenance of a model says, and compare the bytes.

    Parameters
    ----------
    model : BinnedModel, ModelSet, VectorModel or fitted calibrator
    table : table, optional
        As for `fastbin.engines.fit`. ``None``: `score`, `label`, `weight` and `segment` are arrays.
    score, label : str, or arrays
        The columns; arrays of shape (n,), scores of several classes of shape (n, k).
    weight : str, or array, optional
        The weights of the fit. A column of a table holds whole numbers; arrays may be importance weights.
    segment : str, or array, optional
        The keys of a set of segments.
    positive : optional
        The label that counts as 1, where labels are two values other than 0 and 1; the event of the model.
    calibrator : calibrator, optional
        For a model whose configuration cannot be rebuilt, because it held a fitted calibrator, an object or a long array: the
        calibrator, configured as it was. The comparison includes what the model states of it.
    engine, progress : optional
        As for `fastbin.engines.fit`; not with arrays.

    Returns
    -------
    DataCheck
        `is_same`, and the `differences`: which number, parameter or part differs first.

    Raises
    ------
    InputError, InputTypeError
        As the fit; where the model states no provenance; and where its fit cannot be repeated, naming the parameter.

    Notes
    -----
    The same bytes mean that these rows give this model: its edges, counts, values and fingerprint. What changes none of these
    is not seen, such as a score that stays within its bin; the SHA-256 of a file sees it. The order of rows may change the last
    bits of sums of importance weights, and of the map of `fastbin.multi.VectorCalibration`; it matters to nothing else. Keys
    for ties, unlabelled rows and batches that a fit was given besides its rows are not part of a configuration: a model with
    such rows is refused, and one with keys may differ.

    Maps of `fastbin.scaling` are computed by NumPy, and may differ in their last bits on another processor.

    Time and memory are those of the fit.

    Examples
    --------
    >>> import fastbin as fb, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.random(2000)
    >>> labels = rng.random(2000) < scores
    >>> model = fb.UniformMassBinning(n_bins=4).fit(scores, labels).model_
    >>> fb.engines.verify_data(model, score=scores, label=labels).is_same
    True
    >>> fb.engines.verify_data(model, score=scores[1:], label=labels[1:]).differences[0]
    Difference(what='the number of samples', of_model='2,000', of_rows='1,999')
    """
    fitted: AnyModel = as_vector_model(model) or as_model_or_set(model)
    if not isinstance(fitted, VectorModel):
        check_same_event(fitted.event, positive)
    method = estimator_of(fitted, calibrator)
    _check_given(method, table, score=score, label=label, weight=weight, segment=segment, positive=positive, engine=engine)
    with without_warnings():  # of which the first fit has told
        if table is None:
            arrays = {"segments": segment, "sample_weight": weight, "positive": positive}
            given = {name: value for name, value in arrays.items() if value is not None}
            again: AnyModel = method.fit(score, label, **given).model_
        else:
            again = _fit_table(table, Names(score, label, weight, segment), method, positive, engine, progress)
    return compare(fitted, again)


def _check_given(method: Any, table: Any, *, segment: Any, positive: Any, engine: str, **columns: Any) -> None:
    """Refuse arguments that would be ignored, and those of the other kind of rows."""
    is_set = isinstance(method, SegmentedBinning)
    if is_set and segment is None:
        raise InputError("is None, and the model is a set of segments", "give the keys of the rows", argument="segment")
    if segment is not None and not is_set:
        raise InputError("is given, and the model is not a set of segments", "leave it out", argument="segment")
    if positive is not None and not (is_set or isinstance(method, Calibrator)):
        raise InputError("is given, and labels are classes", "leave it out", argument="positive")
    check_choice(engine, "engine", ENGINES)
    if table is None and engine != "auto":
        raise InputError(f"is {engine!r}, and table is None", "leave it out", argument="engine")
    for name, column in {**columns, "segment": segment}.items():
        if table is None and isinstance(column, str):
            raise InputTypeError(f"is the text {column!r}, and table is None", "pass the table too, or an array", argument=name)
        if not (table is None or column is None or isinstance(column, str)):
            raise InputTypeError("is not the name of a column, and table is given", "leave table out for arrays", argument=name)


def _fit_table(
    table: Any, names: Names, method: Any, positive: Any, engine: str, progress: Progress | None
) -> BinnedModel | ModelSet:
    """The fit of the columns of a table; what takes a column for each class is refused."""
    if not isinstance(method, (Calibrator, SegmentedBinning)):
        problem = f"is given, and {type(method).__name__} takes a column for each class"
        raise InputError(problem, "read them as a matrix, and pass it as score, without a table", argument="table")
    return fit_columns(table, names, method, positive, engine, progress)


# ------------------------------------------------------------------------------------------------- the fit again


def estimator_of(model: AnyModel, calibrator: Any = None) -> Any:
    """The estimator whose fit gave this model, with its configuration and the name of its event, not fitted.

    Raises
    ------
    InputError
        Where the provenance is not known, or its fit cannot be repeated.
    """
    steps = _steps_of(model)
    first = steps[0]
    for step in steps[1:]:
        if step.get("function") == "one_per_cluster":
            raise _unrepeatable("was fitted to one row of each cluster, which depends on the order of the rows")
        if "function" not in step or step["function"] not in CHANGES:
            raise _unrepeatable(f"was changed after its fit by {step.get('calibrator', step.get('function'))}")
    _refuse_other_rows(model)
    if calibrator is None:
        made = _rebuilt(first, "")
    elif isinstance(calibrator, Estimator):
        made = type(calibrator)(**calibrator.get_params())
    else:
        problem = f"is of type {type(calibrator).__name__}"
        raise InputTypeError(problem, "pass a calibrator, configured as it was", argument="calibrator")
    if not isinstance(model, VectorModel):
        made._event = str(model.event)
    return made


def _steps_of(model: AnyModel) -> list[dict[str, Any]]:
    stated = stated_by(model._provenance)
    steps = None if stated is None else stated.get("made_by")
    if not steps or not all(isinstance(step, dict) for step in steps) or "calibrator" not in steps[0]:
        raise InputError("does not say how it came about, so its fit cannot be repeated", "fit it anew", argument="model")
    return list(steps)


def _unrepeatable(why: str) -> InputError:
    return InputError(f"{why}, which a fit of its rows does not repeat", "verify the model as it was fitted", argument="model")


def _refuse_other_rows(model: AnyModel) -> None:
    """Refuse models of fits that were given more than their rows."""
    others: dict[str, Any]
    if isinstance(model, VectorModel):
        others = {"unlabelled": model.vector.unlabelled}
    else:
        each = [own for _, own in model.numbered]
        others = {
            "unlabelled": next((own.unlabelled_counts for own in each if own.unlabelled_counts is not None), None),
            "population": next((own.population_counts for own in each if own.population_counts is not None), None),
        }
    for name, found in others.items():
        if found is not None:
            raise InputError(
                f"was fitted with {name}=, rows of which it does not say which", "fit both anew, and compare the bytes",
                argument="model",
            )  # fmt: skip


def _rebuilt(step: Mapping[str, Any], place: str) -> Any:
    """The estimator of a step, and those that are among its parameters."""
    name, configuration = step["calibrator"], step.get("configuration", {})
    if name not in CALIBRATORS:
        raise _unrepeatable(f"was made by {name}, whose fit takes more than rows")
    kind: Any = getattr(import_module(CALIBRATORS[name]), name)
    known = kind._parameter_names()
    given = {}
    for parameter, value in configuration.items():
        if parameter not in known:
            problem = f"has the parameter {parameter!r} of {name}, which this version of fastbin does not know"
            raise InputError(problem, "verify it with the version that fitted it", argument="model")
        given[parameter] = _value_of(value, f"{place}{parameter}")
    return kind(**given)


def _value_of(value: Any, place: str) -> Any:
    """A parameter as it was before it became JSON."""
    if isinstance(value, dict):
        if "calibrator" in value and "sha256" not in value:
            return _rebuilt(value, f"{place}.")
        if "type" in value:
            what = f"an object of type {value['type']}"
        elif "length" in value:
            what = f"an array of {value['length']:,} entries"
        else:
            what = f"a fitted {value.get('calibrator', 'model')}"
        problem = f"was fitted with {place} = {what}, of which it does not keep more than that"
        raise InputError(problem, PASS_CALIBRATOR, argument="model")
    if isinstance(value, list):
        entries = [INFINITE.get(each, each) if place.endswith("score_range") else each for each in value]
        return tuple(entries) if place.endswith(("score_range", "split")) else entries
    return value


# The functions that change a model after its fit, by what they are given: the model says that itself.
CHANGES = {
    "with_out_of_range": lambda model, again: again._derived("with_out_of_range", out_of_range=model.out_of_range),
    "with_decision": lambda model, again: again.with_decision(model.decision),
}


def compare(model: AnyModel, again: AnyModel) -> DataCheck:
    """A model beside the fit of rows, which is changed as the model was after its fit."""
    for step in _steps_of(model)[1:]:
        again = CHANGES[step["function"]](model, again)
    data, other = model.to_bytes(), again.to_bytes()
    found: list[Difference] = []
    if data != other:
        for difference in _differences(model, again):
            found.append(difference)
            if len(found) == MOST_DIFFERENCES:
                break
        found = found or [Difference("a part that is not shown", "its own", "another")]
    return DataCheck(
        is_same=data == other, differences=tuple(found), sha256=hashlib.sha256(data).hexdigest(),
        sha256_of_rows=hashlib.sha256(other).hexdigest(), n_samples=again.n_samples, made_by=in_words(model),
    )  # fmt: skip


# ------------------------------------------------------------------------------------------------- what differs


def _differences(model: AnyModel, again: Any) -> Iterator[Difference]:
    """In the order in which one leads to the next."""
    yield from _of_numbers(model, again, "")
    yield from _of_provenance(model, again)
    if isinstance(model, BinnedModel):
        yield from _of_parts(model, again, "")
        return
    if isinstance(model, VectorModel):
        own: dict[Any, BinnedModel] = dict(model.models)
        others = again.models
        parts = {f"the {name} of the map": pair for name, pair in _pairs(model.vector._asdict(), again.vector._asdict())}
        parts = {"the classes": (list(own), list(others)), **parts}
    else:
        own, others = dict(model.numbered), dict(again.numbered)
        names = ("cells", "pooled_cells", "kind", "unknown", "columns")
        parts = {f"the {name.replace('_', ' ')}": (getattr(model, name), getattr(again, name)) for name in names}
    for what, (first, second) in parts.items():
        yield from _of_values(what, first, second)
    for key, each in own.items():
        if key in others:
            cell = f" of {name_cell(key)}"
            yield from _of_numbers(each, others[key], cell)
            yield from _of_parts(each, others[key], cell)


def _pairs(first: Mapping[str, Any], second: Mapping[str, Any]) -> Iterator[tuple[str, tuple[Any, Any]]]:
    return ((name, (value, second[name])) for name, value in first.items())


COUNTED = {
    "n_samples": "the number of samples", "n_positive": "the number with label 1",
    "fingerprint": "the fingerprint of the data", "event": "the event",
}  # fmt: skip


def _of_numbers(model: Any, again: Any, cell: str) -> Iterator[Difference]:
    for name, what in COUNTED.items():
        first, second = getattr(model, name, None), getattr(again, name, None)
        if first != second:
            form = "016x" if name == "fingerprint" else "," if name != "event" else "s"
            yield Difference(f"{what}{cell}", format(first, form), format(second, form))


def _of_provenance(model: AnyModel, again: AnyModel) -> Iterator[Difference]:
    """The configuration, parameter by parameter, and the version."""
    stated, own = (stated_by(each._provenance) or {} for each in (model, again))
    first, second = dict(_flat(stated.get("made_by"))), dict(_flat(own.get("made_by")))
    for place, value in first.items():
        if place not in second or value != second[place]:
            yield Difference(f"the configuration ({place})", repr(value), repr(second.get(place)))
    if stated.get("version") != own.get("version"):
        yield Difference("the version of fastbin", str(stated.get("version")), str(own.get("version")))
    # Those that came later have their defaults.
    for place in (place for place in second if place not in first):
        yield Difference(f"a parameter that the model does not state ({place})", "none", repr(second[place]))


def _flat(value: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """The entries of nested dicts, and of the list of steps, by their place."""
    if isinstance(value, dict):
        for name, entry in value.items():
            inner = place if name == "configuration" else f"{place}.{name}".lstrip(".")
            yield from _flat(entry, inner)
    elif isinstance(value, list) and any(isinstance(entry, dict) for entry in value):
        for number, entry in enumerate(value):
            yield from _flat(entry, place if number == 0 else f"step {number + 1}")
    else:
        yield place, value


def _of_parts(model: BinnedModel, again: BinnedModel, cell: str) -> Iterator[Difference]:
    for name in (*PARTS, "map"):
        if name not in COUNTED:
            yield from _of_values(f"the {name.replace('_', ' ')}{cell}", getattr(model, name), getattr(again, name))


def _of_values(what: str, first: Any, second: Any) -> Iterator[Difference]:
    """The first entry that differs of arrays and lists; anything else as a whole."""
    are_rows = all(isinstance(each, (np.ndarray, list, tuple)) for each in (first, second))
    if not are_rows:
        if first is not second and not (type(first) is type(second) and first == second):
            yield Difference(what, _shown(first), _shown(second))
        return
    rows, others = (each.tolist() if isinstance(each, np.ndarray) else list(each) for each in (first, second))
    if len(rows) != len(others):
        yield Difference(f"the number of {what.removeprefix('the ')}", f"{len(rows):,}", f"{len(others):,}")
    for at, (own, other) in enumerate(zip_longest(rows, others)):
        if own != other and not (own != own and other != other):
            far = _largest(rows, others)
            yield Difference(f"{what} (entry {at}{far})", _shown(own), _shown(other))
            return


def _largest(rows: list[Any], others: list[Any]) -> str:
    """The largest distance of two arrays of doubles of one shape, in words."""
    try:
        first, second = np.array(rows), np.array(others)
    except ValueError:  # rows of different lengths
        return ""
    if first.shape != second.shape or first.dtype.kind != "f" or second.dtype.kind != "f":
        return ""
    return f"; the largest distance of all is {np.nanmax(np.abs(first - second)):.3g}"


def _shown(value: Any) -> str:
    text = "none" if value is None else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
