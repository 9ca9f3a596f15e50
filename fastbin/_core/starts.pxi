# The evidence of the starts of a monitor (fastbin.online.pooled), outcome by outcome. Compiled, as each label costs a few
# hundred exponentials, and arrays of them do not stay in the cache. A number depends on counts alone, to the last bit.

cdef double MOST_LOG_E = 600.0


cdef double mean_exp(const double *exponents, Py_ssize_t n) noexcept nogil:
    """The mean of e^x, x being at most 600, so that sums do not overflow."""
    cdef double total = 0.0
    cdef Py_ssize_t i
    for i in range(n):
        total += exp(min(exponents[i], MOST_LOG_E))
    return total / n


cdef double mean_of(const double *values, Py_ssize_t n) noexcept nogil:
    """Four sums, each of which waits for itself alone."""
    cdef double a = 0.0, b = 0.0, c = 0.0, d = 0.0
    cdef Py_ssize_t i = 0
    while i + 4 <= n:
        a += values[i]
        b += values[i + 1]
        c += values[i + 2]
        d += values[i + 3]
        i += 4
    while i < n:
        a += values[i]
        i += 1
    return ((a + b) + (c + d)) / n


cdef double mean_product(const double *factors, Py_ssize_t n, int64_t zeros, int64_t ones) noexcept nogil:
    """The mean over n alternatives of their products; `factors` has the logarithms for label 0, then those for label 1."""
    cdef double total = 0.0
    cdef Py_ssize_t i
    for i in range(n):
        total += exp(min(ones * factors[n + i] + zeros * factors[i], MOST_LOG_E))
    return total / n


def evidence_in_counts(factors, counts, ones):
    """float64 (n_starts, n_bins): the mean product of each bin over these counts; `factors` is (n_bins, 2, n_alternatives)."""
    cdef Py_ssize_t n_bins = factors.shape[0], n = factors.shape[2], n_starts = len(counts), s, b, at
    cdef const double *table = <const double *>data_of(factors, cnp.NPY_FLOAT64, 3)
    cdef const int64_t *count = given_integers(counts, 2)
    cdef const int64_t *one = given_integers(ones, 2)
    cdef cnp.ndarray evidence = new_array(cnp.NPY_FLOAT64, n_starts, n_bins)
    cdef double *found = <double *>cnp.PyArray_DATA(evidence)
    with nogil:
        for s in range(n_starts):
            for b in range(n_bins):
                at = s * n_bins + b
                found[at] = mean_product(table + 2 * n * b, n, count[at] - one[at], one[at])
    return evidence


def evidence_of_starts(own, log_pooled):
    """float64 (1 + n_starts,): the pooled evidence of the first start, and all the evidence of each later one, twice each."""
    cdef Py_ssize_t n_starts = len(own), n_bins = own.shape[1], n_pooled = log_pooled.shape[1], s
    cdef const double *bin_evidence = given_doubles(own, 2)
    cdef const double *exponents = given_doubles(log_pooled, 2)
    cdef cnp.ndarray evidence = new_array(cnp.NPY_FLOAT64, 1 + n_starts)
    cdef double *each = <double *>cnp.PyArray_DATA(evidence)
    each[0] = mean_exp(exponents, n_pooled)
    for s in range(n_starts):
        each[s + 1] = mean_of(bin_evidence + s * n_bins, n_bins) + mean_exp(exponents + (s + 1) * n_pooled, n_pooled)
    return evidence


def follow_starts(
    bins, labels, own_factors, pooled_factors, class_of_bin, Py_ssize_t n_classes, counts, ones, own, log_pooled, shares
):
    """float64 (n_outcomes,): the sum of `evidence_of_starts` with these shares after each outcome.

    An outcome is a row for each class. `counts` and `ones`, (n_starts, n_bins), `own` and `log_pooled` are moved on;
    `pooled_factors` is (n_bins, 2, n_pairs), and `log_pooled` has n_classes n_pairs for each start, the first among them.
    """
    cdef Py_ssize_t n_rows = len(bins), n_bins = own.shape[1], n_starts = len(own), n_pooled = log_pooled.shape[1]
    cdef Py_ssize_t n_pairs = n_pooled // n_classes, n = own_factors.shape[2], row, s, at, g
    cdef const int32_t *bin_of_row = <const int32_t *>data_of(bins, cnp.NPY_INT32)
    cdef const int32_t *class_of = <const int32_t *>data_of(class_of_bin, cnp.NPY_INT32)
    cdef const int64_t *label = integers(labels)
    cdef const double *own_table = <const double *>data_of(own_factors, cnp.NPY_FLOAT64, 3)
    cdef const double *pooled_table = <const double *>data_of(pooled_factors, cnp.NPY_FLOAT64, 3)
    cdef const double *share = doubles(shares)
    cdef const double *step
    cdef int64_t *count = <int64_t *>given_integers(counts, 2)
    cdef int64_t *one = <int64_t *>given_integers(ones, 2)
    cdef double *evidence = <double *>given_doubles(own, 2)
    cdef double *exponents = <double *>given_doubles(log_pooled, 2)
    cdef cnp.ndarray sums = new_array(cnp.NPY_FLOAT64, n_rows // n_classes)
    cdef double *total = <double *>cnp.PyArray_DATA(sums)
    cdef int32_t b
    cdef double sum_now
    with nogil:
        for row in range(n_rows):
            b = bin_of_row[row]
            step = pooled_table + (2 * b + label[row]) * n_pairs
            at = class_of[b] * n_pairs
            for s in range(n_starts + 1):
                for g in range(n_pairs):
                    exponents[s * n_pooled + at + g] += step[g]
            for s in range(n_starts):
                at = s * n_bins + b
                count[at] += 1
                one[at] += label[row]
                evidence[at] = mean_product(own_table + 2 * n * b, n, count[at] - one[at], one[at])
            if (row + 1) % n_classes == 0:
                sum_now = share[0] * mean_exp(exponents, n_pooled)
                for s in range(n_starts):
                    sum_now += share[s + 1] * (
                        mean_of(evidence + s * n_bins, n_bins) + mean_exp(exponents + (s + 1) * n_pooled, n_pooled)
                    )
                total[row // n_classes] = sum_now
    return sums
