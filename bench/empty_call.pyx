"""The cost of the call of a method by itself; compiled by `machine.empty_call`."""

cimport cython


@cython.auto_pickle(False)
cdef class EmptyCall:
    """`predict_one` with the signature of a model's, and an empty body."""

    def predict_one(self, double score, tie_key=None):
        """The score."""
        return score
