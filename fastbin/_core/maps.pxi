# Maps from score to probability, fitted to counts in cells: the arrays of csrc/fit/value_maps.h.


cdef extern from "map_kernels.h":
    enum:
        MOST_PARAMETERS

    ctypedef struct ridge_problem:
        size_t n
        const double *zeros
        const double *ones
        int k
        const double *columns[5]

    ctypedef struct map_kernels:
        double (*terms)(const ridge_problem *problem, const double *parameters, double *slopes, double *bends) noexcept nogil

    const map_kernels *fastbin_map_kernels() nogil


cdef extern from "value_maps.h":
    ctypedef int value_map
    ctypedef int recentring
    enum:
        MAP_INTERRUPTED
        POOLING_INTERRUPTED

    ctypedef struct map_cells:
        size_t n
        const double *scores
        const double *counts
        const double *ones
        double rows
        int are_probabilities
        uint32_t most_steps
        int (*look)() except -1 nogil

    ctypedef struct map_parameters:
        double of_powers[3]
        uint32_t n_knots
        double knots[5][3]

    ctypedef struct pooled_blocks:
        int64_t *starts
        double *weights
        double *sums
        double *means

    ctypedef struct step_bins:
        size_t n
        const int64_t *first_step
        const double *counts
        const double *ones

    size_t fastbin_map_scratch(size_t n) nogil
    uint32_t fastbin_fit_map(
        value_map map, const map_cells *cells, double *logits, map_parameters *parameters, double *scratch
    ) nogil
    uint32_t fastbin_fit_steps(
        value_map map, recentring recentre, int monotone, const map_cells *cells, const step_bins *bins, double *steps,
        double *scratch,
    ) nogil
    size_t fastbin_pool(
        const double *weights, const double *sums, size_t n, const pooled_blocks *into, int (*look)() except -1 nogil
    ) nogil
    void fastbin_pool_steps(double *steps, const double *counts, size_t n, double *scratch) nogil


cdef map_cells cells_of(scores, counts, ones, double rows, bint are_probabilities, uint32_t most_steps) except *:
    cdef map_cells cells
    if not 0 < len(scores) == len(counts) == len(ones):
        raise InputError("cells must be columns of one length, and not empty")
    cells.n = len(scores)
    cells.scores, cells.counts, cells.ones = doubles(scores), doubles(counts), doubles(ones)
    cells.rows, cells.are_probabilities, cells.most_steps = rows, are_probabilities, most_steps
    cells.look = look_at_signals
    return cells


cdef double *scratch_for(size_t n) except NULL:
    cdef double *scratch = <double *>malloc(fastbin_map_scratch(n) * sizeof(double))
    if scratch == NULL:
        raise MemoryError
    return scratch


cdef int end_if_interrupted(bint is_interrupted) except -1:
    """Where a signal has raised an error in between, it is raised here."""
    return -1 if is_interrupted else 0


def fit_map(int which, scores, counts, ones, double rows, bint are_probabilities, uint32_t most_steps):
    """The logits of the cells, the bits of what did not converge, and the parameters: float64 (3,), or (k, 3) knots."""
    cdef map_cells cells = cells_of(scores, counts, ones, rows, are_probabilities, most_steps)
    cdef map_parameters parameters
    cdef uint32_t wrong
    cdef cnp.ndarray logits = new_array(cnp.NPY_FLOAT64, len(scores))
    cdef double *filled = <double *>cnp.PyArray_DATA(logits)
    cdef double *scratch = scratch_for(cells.n)
    with nogil:
        wrong = fastbin_fit_map(<value_map>which, &cells, filled, &parameters, scratch)
        free(scratch)
    end_if_interrupted(wrong & <uint32_t>MAP_INTERRUPTED != 0)
    if parameters.n_knots:
        return logits, wrong, np.array([[x for x in row[:3]] for row in parameters.knots[:parameters.n_knots]])
    return logits, wrong, np.array([x for x in parameters.of_powers[:3]])


def logistic_terms(columns, zeros, ones, slopes, double constant):
    """sum (zeros log(1 + e^z) + ones log(1 + e^-z)), z = constant + sum slopes columns; the derivatives of each term by z."""
    cdef ridge_problem problem
    cdef double[5] parameters
    cdef double loss
    cdef Py_ssize_t n = len(zeros), k = len(slopes), i
    cdef const double *column = <const double *>data_of(columns, cnp.NPY_FLOAT64, 2)
    cdef cnp.ndarray first = new_array(cnp.NPY_FLOAT64, n), second = new_array(cnp.NPY_FLOAT64, n)
    cdef double *firsts = <double *>cnp.PyArray_DATA(first)
    cdef double *seconds = <double *>cnp.PyArray_DATA(second)
    if not (k < MOST_PARAMETERS and columns.shape == (k, n) and len(ones) == n):
        raise InputError("columns have a row for each slope, of which there are few, and an entry for each pair of weights")
    memset(&problem, 0, sizeof(problem))
    problem.n, problem.k, problem.zeros, problem.ones = n, k + 1, doubles(zeros), doubles(ones)
    parameters[0] = constant
    for i in range(k):
        parameters[i + 1] = slopes[i]
        problem.columns[i + 1] = column + i * n
    with nogil:
        loss = fastbin_map_kernels().terms(&problem, parameters, firsts, seconds)
    return loss, first, second


def fit_steps(
    int which, int recentre, bint monotone, scores, counts, ones, first_step, bin_counts, bin_ones,
    double rows, bint are_probabilities, uint32_t most_steps,
):
    """The value of each step, and the bits of what did not converge."""
    cdef map_cells cells = cells_of(scores, counts, ones, rows, are_probabilities, most_steps)
    cdef step_bins bins
    cdef cnp.ndarray steps = new_array(cnp.NPY_FLOAT64, <cnp.npy_intp>cells.n)
    if not 0 < len(first_step) == len(bin_counts) == len(bin_ones) <= len(scores):
        raise InputError("bins must be columns of one length, and each hold a step")
    bins.n = len(first_step)
    bins.first_step, bins.counts, bins.ones = integers(first_step), doubles(bin_counts), doubles(bin_ones)
    return steps, fit_in_bins(which, recentre, monotone, &cells, &bins, <double *>cnp.PyArray_DATA(steps))


cdef object fit_in_bins(
    int which, int recentre, bint monotone, const map_cells *cells, const step_bins *bins, double *steps,
):
    """Fill in the value of each step; the bits of what did not converge."""
    cdef uint32_t wrong
    cdef double *scratch = scratch_for(cells.n)
    with nogil:
        wrong = fastbin_fit_steps(<value_map>which, <recentring>recentre, monotone, cells, bins, steps, scratch)
        free(scratch)
    end_if_interrupted(wrong & <uint32_t>MAP_INTERRUPTED != 0)
    return wrong


def pool_steps(steps, counts):
    """The non-decreasing steps nearest to these in squares over the rows; steps that do not fall keep every bit."""
    if not 0 < len(steps) == len(counts):
        raise InputError("steps and counts must have one length, and not be empty")
    cdef cnp.ndarray pooled = np.array(steps, np.float64)
    cdef const double *weights = doubles(counts)
    cdef double *scratch = scratch_for(len(steps))
    fastbin_pool_steps(<double *>cnp.PyArray_DATA(pooled), weights, len(steps), scratch)
    free(scratch)
    return pooled
