# Affine maps of the logarithms of rows, fitted to classes: the arrays of csrc/fit/vector_maps.h.


cdef extern from "vector_maps.h":
    ctypedef struct affine_problem:
        size_t n
        size_t k
        const double *z
        const double *offsets
        const int64_t *truth
        const double *weights
        double base
        int is_matrix
        const double *centres
        const double *ridge
        double ridge_intercept
        uint32_t most_steps
        int (*look)() except -1 nogil

    const uint32_t VECTOR_INTERRUPTED
    size_t fastbin_affine_scratch(size_t k, int is_matrix) nogil
    uint32_t fastbin_fit_affine(const affine_problem *problem, double *parameters, double *scratch) nogil
    int fastbin_doubtful_moments(const affine_problem *problem, double *means, double *variances, double *scratch) nogil
    void fastbin_logs(const double *p, size_t n, double least, double *z) nogil
    double fastbin_fit_factor(const affine_problem *problem, double rows, double *least, double *scratch) nogil


cdef affine_problem problem_of(z, truth, weights, offsets, double base, uint32_t most_steps) except *:
    cdef affine_problem problem
    memset(&problem, 0, sizeof(problem))
    if z.ndim != 2 or len(truth) != len(z) or (weights is not None and len(weights) != len(z)):
        raise InputError("rows must be a matrix, with a class and perhaps a weight for each")
    if len(truth) and not 0 <= truth.min() <= truth.max() < z.shape[1]:
        raise InputError("the class of a row is the number of its column")
    if offsets is not None and offsets.shape != z.shape:
        raise InputError("offsets have the shape of the rows")
    problem.n, problem.k, problem.base, problem.most_steps = len(z), z.shape[1], base, most_steps
    problem.z, problem.truth = <const double *>data_of(z, cnp.NPY_FLOAT64, 2), integers(truth)
    if weights is not None:
        problem.weights = doubles(weights)
    if offsets is not None:
        problem.offsets = <const double *>data_of(offsets, cnp.NPY_FLOAT64, 2)
    problem.look = look_at_signals
    return problem


def fit_affine(
    z, truth, centres, ridge, double ridge_intercept, *, weights=None, offsets=None, double base=1.0, uint32_t most_steps=500,
):
    """D, float64 (k,) or (k, k) as `centres` and `ridge` are, the constants (k,), and how many steps led there."""
    cdef affine_problem problem = problem_of(z, truth, weights, offsets, base, most_steps)
    cdef int n_dimensions = ridge.ndim
    cdef Py_ssize_t n_slopes = problem.k ** n_dimensions
    cdef cnp.ndarray parameters = np.zeros(n_slopes + problem.k)
    cdef double *filled = <double *>cnp.PyArray_DATA(parameters)
    cdef double *scratch
    cdef uint32_t steps
    if n_dimensions not in (1, 2) or ridge.size != n_slopes or centres.shape != ridge.shape:
        raise InputError("centres and ridge have an entry for each column, or for each pair of columns")
    problem.is_matrix, problem.ridge_intercept = n_dimensions == 2, ridge_intercept
    problem.centres = <const double *>data_of(centres, cnp.NPY_FLOAT64, n_dimensions)
    problem.ridge = <const double *>data_of(ridge, cnp.NPY_FLOAT64, n_dimensions)
    scratch = affine_scratch(&problem)
    with nogil:
        steps = fastbin_fit_affine(&problem, filled, scratch)
        free(scratch)
    end_if_interrupted(steps == VECTOR_INTERRUPTED)
    return parameters[:n_slopes].reshape(ridge.shape), parameters[n_slopes:], steps


def fit_factor(z, truth, double rows, *, weights=None, offsets=None, uint32_t most_steps=50):
    """The factor of z, and the loss with it."""
    cdef affine_problem problem = problem_of(z, truth, weights, offsets, 1.0, most_steps)
    cdef double *scratch = affine_scratch(&problem)
    cdef double factor, least = 0.0
    with nogil:
        factor = fastbin_fit_factor(&problem, rows, &least, scratch)
        free(scratch)
    end_if_interrupted(factor != factor)
    return factor, least


def doubtful_moments(z, truth, bint is_matrix, *, weights=None, offsets=None, double base=1.0):
    """Means and variances of z where classes are in doubt: float64 (k, k), or (k,)."""
    cdef affine_problem problem = problem_of(z, truth, weights, offsets, base, 1)
    cdef cnp.npy_intp k = problem.k
    cdef cnp.ndarray means = new_array(cnp.NPY_FLOAT64, k, k if is_matrix else -1)
    cdef cnp.ndarray variances = np.empty_like(means)
    cdef double *into = <double *>cnp.PyArray_DATA(means)
    cdef double *squares = <double *>cnp.PyArray_DATA(variances)
    cdef double *scratch
    cdef int is_done
    problem.is_matrix = is_matrix
    scratch = affine_scratch(&problem)
    with nogil:
        is_done = fastbin_doubtful_moments(&problem, into, squares, scratch)
        free(scratch)
    end_if_interrupted(not is_done)
    return means, variances


def row_logs(p, double least):
    """float64 (n, k): log(max(p, least))."""
    cdef const double *given = <const double *>data_of(p, cnp.NPY_FLOAT64, 2)
    cdef cnp.ndarray z = np.empty_like(p)
    fastbin_logs(given, p.size, least, <double *>cnp.PyArray_DATA(z))
    return z


cdef double *affine_scratch(const affine_problem *problem) except NULL:
    cdef double *scratch = <double *>malloc(fastbin_affine_scratch(problem.k, problem.is_matrix) * sizeof(double))
    if scratch == NULL:
        raise MemoryError
    return scratch
