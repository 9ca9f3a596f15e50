"""Importance weights from unlabelled features: unconstrained least-squares importance fitting (uLSIF)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from fastbin._base.array_types import Float64s
from fastbin._base.checks import check_count, check_function, check_seed, refuse_first
from fastbin._base.dependencies import needed_for
from fastbin._base.docstrings import shared_docs
from fastbin._base.errors import InputError, InputTypeError, NotFittedError
from fastbin._fit.calibrator import Calibrator
from fastbin.intervals.binomial import as_doubles

if TYPE_CHECKING:
    from typing_extensions import Self

Progress = Callable[[float], object]

# Entries of one kernel block: 8 MB, and a handful of temporaries of that size.
BLOCK_ENTRIES = 2**20


class ImportanceEstimator(Protocol):
    """The methods by which `ImportanceWeightedBinning.fit_to_target` lets weights be estimated; `ULSIF` has them."""

    def fit(self, source: Any, target: Any, *, progress: Progress | None = None) -> Any: ...
    def weights(self, features: Any) -> Float64s: ...


@dataclass(eq=False, repr=False)
class ULSIF:
    """Unconstrained least-squares importance fitting: the density ratio target / source as a sum of Gaussian kernels.

    The weight is w(x) = sum_l beta_l exp(-|x - c_l|^2 / (2 sigma^2)) with centres c_l among the target rows. beta minimises
    the squared distance to the true ratio plus a ridge penalty, and negative coefficients are set to 0. The width sigma and the
    penalty lambda are those with the least leave-one-out error, which has a closed form.

    Parameters
    ----------
    n_centers : int
        How many target rows become kernel centres; all of them where the target has fewer.
    sigmas : array-like of float, optional
        Kernel widths to choose from. By default 25 from 0.01 to 100, evenly spaced on the log scale (Gupta, Podkopaev &
        Ramdas 2020, Appendix D.4). A width is a distance between rows: bring the features to one scale first.
    lambdas : array-like of float, optional
        Ridge penalties to choose from. By default 100 from 0.001 to 1000, evenly spaced on the log scale (ibid.).
    n_pairs : int or None
        How many (source row, target row) pairs are left out in turn, the first ones; ``None`` takes as many as there are
        (Kanamori, Hido & Sugiyama 2009). The fit itself always uses all rows, but with few pairs the choice is noisy: 500
        pairs of 10,000 rows can give weights several times further off.
    seed : int or None
        Of the choice of centres.

    Attributes
    ----------
    sigma_, lambda_ : float
        The chosen width and penalty.
    centers_ : float64 (n_centers, d)
    coefficients_ : float64 (n_centers,)
        beta, none negative.
    scores_ : float64 (n_sigmas, n_lambdas)
        The leave-one-out error of every choice, up to a constant.

    Notes
    -----
    Leaving out pair i drops the i-th source row and the i-th target row together, so the choice depends, slightly, on how rows
    are paired. For s widths, l penalties, b centres: O(n b (b + d) s) time for the n rows and O(n_pairs b^2 s l) for the
    choice; memory O(s b^2) plus blocks of fixed size.

    An estimated weight carries no finite-sample guarantee: calibration with it is right as the estimate converges (Gupta,
    Podkopaev & Ramdas 2020, Proposition 2), and no distribution-free statement about the estimate is possible.

    References
    ----------
    .. [1] T. Kanamori, S. Hido and M. Sugiyama, "A least-squares approach to direct importance estimation", JMLR 10, 2009.

    Examples
    --------
    >>> import numpy as np
    >>> import fastbin as fb
    >>> rng = np.random.default_rng(0)
    >>> source, target = rng.random((500, 1)), rng.beta(2, 1, (500, 1))  # the true ratio is 2 x
    >>> ulsif = fb.shift.ULSIF(sigmas=[0.3, 1.0], lambdas=[0.01, 0.1]).fit(source, target)
    >>> ulsif.weights([[0.25], [0.75]]).round(1)
    array([0.5, 1.5])
    """

    _: KW_ONLY
    n_centers: int = 100
    sigmas: Any = None
    lambdas: Any = None
    n_pairs: int | None = 10_000
    seed: int | None = 0

    @shared_docs(Calibrator.fit.__doc__)
    def fit(self, source: Any, target: Any, *, centers: Any = None, progress: Progress | None = None) -> Self:
        """Fit to unlabelled rows of both populations.

        Parameters
        ----------
        source, target : array-like of float, shape (n, d)
            At least two rows each. NaN and infinity are refused.
        centers : array-like of float, shape (n_centers, d), optional
            Kernel centres, in place of a random choice among the target rows.
        progress : callable, optional
            Called with the share of the work done, from 0 to 1.

        {Returns}

        Raises
        ------
        InputError, InputTypeError
            Naming the argument, the first bad position, and the remedy; also when no choice of the grid gives any weight.
        """
        source_rows, target_rows = check_features(source, "source"), check_features(target, "target")
        for name, rows in (("source", source_rows), ("target", target_rows)):
            if rows.shape[0] < 2:
                raise InputError(f"has {rows.shape[0]} rows", "leaving one out needs at least 2", argument=name)
        kernels = self._choose_centers(target_rows, centers)
        for name, rows in (("source", source_rows), ("centers", kernels)):
            _check_columns(rows, target_rows.shape[1], name, "target")
        sigmas = _grid(self.sigmas, "sigmas", -2, 2, 25)
        lambdas = _grid(self.lambdas, "lambdas", -3, 3, 100)
        n_pairs = min(source_rows.shape[0], target_rows.shape[0])
        if self.n_pairs is not None:
            n_pairs = min(n_pairs, check_count(self.n_pairs, "n_pairs"))
        check_function(progress, "progress")
        report = progress if progress is not None else lambda share: None

        moments = _Moments(source_rows, target_rows, kernels, sigmas)
        errors = moments.leave_one_out(source_rows[:n_pairs], target_rows[:n_pairs], lambdas, report)
        best_sigma, best_lambda = np.unravel_index(int(np.argmin(errors)), errors.shape)
        sigma, penalty = float(sigmas[best_sigma]), float(lambdas[best_lambda])
        coefficients = moments.coefficients(int(best_sigma), penalty)
        if not coefficients.any():
            raise InputError(
                f"every coefficient is 0 at the best choice, sigma={sigma:g} and lambda={penalty:g}, so all "
                "weights would be 0: the widths do not fit the features",
                "scale the features to about 1, or give other sigmas",
            )
        self.scores_, self.sigma_, self.lambda_ = errors, sigma, penalty
        self.centers_, self.coefficients_ = kernels.copy(), coefficients
        report(1.0)
        return self

    def weights(self, features: Any) -> Float64s:
        """The weight of each row.

        Parameters
        ----------
        features : array-like of float, shape (n, d)

        Returns
        -------
        float64 (n,)
            Not negative. Their mean over source rows is about 1; they are not rescaled to make it so.

        Raises
        ------
        NotFittedError
            Before `fit`.
        InputError, InputTypeError
            For NaN, infinity, or another number of columns than the fit had.

        Notes
        -----
        O(n b d) time for b centres, and blocks of fixed size.
        """
        if not hasattr(self, "coefficients_"):
            raise NotFittedError("this ULSIF is not fitted yet; call fit(source, target) first")
        rows = check_features(features)
        _check_columns(rows, self.centers_.shape[1], "features", "the fit")
        weights = np.empty(rows.shape[0])
        for span in _spans(rows.shape[0], self.centers_.shape[0]):
            kernel = np.exp(-_squared_distances(rows[span], self.centers_) / (2.0 * self.sigma_**2))
            weights[span] = kernel @ self.coefficients_
        return weights

    def _choose_centers(self, target: Float64s, centers: Any) -> Float64s:
        if centers is not None:
            given = check_features(centers, "centers")
            if len(given) == 0:
                raise InputError("is empty", "give at least one row, or leave it out", argument="centers")
            return given
        n_centers = min(check_count(self.n_centers, "n_centers"), target.shape[0])
        chosen = np.random.default_rng(check_seed(self.seed)).choice(target.shape[0], n_centers, replace=False)
        return target[np.sort(chosen)]

    def __repr__(self) -> str:
        return f"ULSIF(n_centers={self.n_centers!r}, n_pairs={self.n_pairs!r}, seed={self.seed!r})"


class _Moments:
    """H = mean of phi phi' over source rows and h = mean of phi over target rows, for each width; phi are the b kernels."""

    def __init__(self, source: Float64s, target: Float64s, centers: Float64s, sigmas: Float64s) -> None:
        n_sigmas, n_centers = len(sigmas), centers.shape[0]
        self.centers = centers
        self.factors = -0.5 / sigmas**2
        self.n_source, self.n_target = source.shape[0], target.shape[0]
        self.second = np.zeros((n_sigmas, n_centers, n_centers))
        self.first = np.zeros((n_sigmas, n_centers))
        for place, kernel in self._kernels(source):
            self.second[place] += kernel.T @ kernel
        for place, kernel in self._kernels(target):
            self.first[place] += kernel.sum(axis=0)
        self.second /= self.n_source
        self.first /= self.n_target

    def _kernels(self, rows: Float64s) -> Iterator[tuple[int, Float64s]]:
        """The kernels at some rows after each other, for each width."""
        for span in _spans(len(rows), len(self.centers)):
            distances = _squared_distances(rows[span], self.centers)
            for place, factor in enumerate(self.factors):
                yield place, np.exp(factor * distances)

    def coefficients(self, place: int, penalty: float) -> Float64s:
        """max(0, (H + penalty I)^-1 h)."""
        second = self.second[place] + penalty * np.eye(self.centers.shape[0])
        try:
            solved = _scipy().linalg.solve(second, self.first[place], assume_a="pos")
        except np.linalg.LinAlgError as error:
            problem = f"has {penalty:g}, the best choice, which is lost in rounding"
            remedy = "give greater ones: the penalty makes the equations of centres that are near each other solvable"
            raise InputError(problem, remedy, argument="lambdas") from error
        return np.maximum(solved, 0.0)

    def leave_one_out(self, source: Float64s, target: Float64s, lambdas: Float64s, report: Progress) -> Float64s:
        """The leave-one-out error of every width and penalty, over the pairs (source[i], target[i]); (n_sigmas, n_lambdas)."""
        spectra = [_scipy().linalg.eigh(second) for second in self.second]
        n_pairs = source.shape[0]
        scores = np.zeros((len(self.factors), len(lambdas)))
        for span in _spans(n_pairs, self.centers.shape[0]):
            from_source = _squared_distances(self.centers, source[span])
            from_target = _squared_distances(self.centers, target[span])
            for place, factor in enumerate(self.factors):
                kernels = np.exp(factor * from_source), np.exp(factor * from_target)
                scores[place] += self._errors(place, spectra[place], *kernels, lambdas)
                report((span.start + (span.stop - span.start) * (place + 1) / len(self.factors)) / n_pairs)
        return scores / n_pairs

    def _errors(
        self, place: int, spectrum: tuple[Float64s, Float64s], left_source: Float64s, left_target: Float64s, lambdas: Float64s
    ) -> Float64s:
        """Sums over left-out pairs (columns) of w_i(source)^2 / 2 - w_i(target), where w_i was fitted without pair i.

        Leaving out a pair changes H by one outer product and h by one vector, so by Sherman and Morrison with
        A = H + lambda (n_s - 1) / n_s, the coefficients without pair i are, up to a constant,

            A^-1 (n_t h - phi'_i + phi_i (n_t h' A^-1 phi_i - phi'_i A^-1 phi_i) / (n_s - phi_i' A^-1 phi_i)),

        phi_i and phi'_i being the kernels at the two rows. In the eigenvectors of H, A is diagonal for every lambda, and only
        one product of matrices per lambda is left: the coefficients are cut off at 0 in the original coordinates.
        """
        eigenvalues, vectors = spectrum
        n_s, n_t = self.n_source, self.n_target
        inverse = 1.0 / (np.maximum(eigenvalues, 0.0) + lambdas[:, np.newaxis] * (n_s - 1) / n_s)  # (n_lambdas, b)
        first = vectors.T @ self.first[place]
        source, target = vectors.T @ left_source, vectors.T @ left_target
        leverage = n_s - inverse @ source**2
        pull = (n_t * ((inverse * first) @ source) - inverse @ (source * target)) / leverage
        base = n_t * first[:, np.newaxis] - target
        scale = (n_s - 1) / (n_s * (n_t - 1))
        errors = np.empty(len(lambdas))
        for place_of_lambda in range(len(lambdas)):
            inner = (base + source * pull[place_of_lambda]) * (scale * inverse[place_of_lambda])[:, np.newaxis]
            coefficients = np.maximum(vectors @ inner, 0.0)
            at_source = np.einsum("ij,ij->j", left_source, coefficients)
            errors[place_of_lambda] = 0.5 * np.dot(at_source, at_source) - np.vdot(left_target, coefficients)
        return errors


def _scipy() -> Any:
    with needed_for("estimates of importance weights", extra="fit"):
        import scipy.linalg
        import scipy.spatial
    return scipy


def _squared_distances(rows: Float64s, others: Float64s) -> Float64s:
    return np.asarray(_scipy().spatial.distance.cdist(rows, others, "sqeuclidean"))


def _spans(n: int, width: int) -> Iterator[slice]:
    """Blocks of rows whose kernel has at most BLOCK_ENTRIES entries."""
    step = max(1, BLOCK_ENTRIES // width)
    for start in range(0, n, step):
        yield slice(start, min(n, start + step))


LEAST_IN_GRID = 1e-100


def _grid(values: Any, name: str, low: int, high: int, size: int) -> Float64s:
    if values is None:
        return np.logspace(low, high, size)
    grid = np.atleast_1d(as_doubles(values, name, "a number or a sequence of numbers"))
    if grid.ndim != 1 or grid.size == 0:
        raise InputTypeError(f"must be a number or a sequence of numbers, got shape {grid.shape}", argument=name)
    bad = ~((grid >= LEAST_IN_GRID) & (grid <= 1.0 / LEAST_IN_GRID))  # whose squares are doubles, and not 0
    refuse_first(bad, name, grid, f"it must be from {LEAST_IN_GRID:g} to {1.0 / LEAST_IN_GRID:g}")
    return grid


def _check_columns(rows: Float64s, n_columns: int, name: str, other: str) -> None:
    if rows.shape[1] != n_columns:
        remedy = "both need the same features in one order"
        raise InputError(f"has {rows.shape[1]} columns and {other} has {n_columns}", remedy, argument=name)


def check_features(features: Any, name: str = "features") -> Float64s:
    """Features as a float64 (n, d) array of finite numbers; one dimension becomes one column. O(n d)."""
    if np.iscomplexobj(features):
        raise InputTypeError("has complex numbers", "give their parts as two features", argument=name)
    try:
        array = np.asarray(features, dtype=np.float64)
    except (TypeError, ValueError) as error:
        remedy = "encode categories as numbers first"
        raise InputTypeError(f"is not an array of numbers: {error}", remedy, argument=name) from error
    if array.ndim == 1:
        array = array[:, np.newaxis]
    if array.ndim != 2 or array.shape[1] == 0:
        problem = f"must have one row per sample and one column per feature, got shape {np.shape(features)}"
        raise InputTypeError(problem, argument=name)
    refuse_first(~np.isfinite(array), name, array, "features must be finite: impute or remove such rows")
    return array
