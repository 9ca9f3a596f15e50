"""The part of the C header that the extensions use."""

from libc.stddef cimport ptrdiff_t, size_t
from libc.stdint cimport int8_t, int32_t, int64_t, uint64_t


cdef extern from "fastbin.h" nogil:
    ctypedef enum fastbin_status:
        FASTBIN_OK
        FASTBIN_ERROR_ARGUMENT
        FASTBIN_ERROR_MEMORY
        FASTBIN_ERROR_SCORE_NAN
        FASTBIN_ERROR_SCORE_RANGE
        FASTBIN_ERROR_CELL
        FASTBIN_ERROR_EDGES
        FASTBIN_ERROR_SET
        FASTBIN_ERROR_MAGIC
        FASTBIN_ERROR_FORMAT_VERSION
        FASTBIN_ERROR_LENGTH
        FASTBIN_ERROR_CHECKSUM
        FASTBIN_ERROR_CONTENT

    ctypedef struct fastbin_model:
        pass

    ctypedef struct fastbin_model_spec:
        size_t struct_size
        int32_t kind
        int32_t scheme
        int32_t ties
        int32_t map
        double map_parameters[4]
        int32_t n_bins
        int32_t n_bins_asked
        const double *edges
        const uint64_t *edge_keys
        const double *values
        const int64_t *counts
        const int64_t *label_sums
        const double *weight_sums
        const double *weighted_label_sums
        const double *weight_square_sums
        double score_min
        double score_max
        double delta
        double odds_ratio
        uint64_t seed
        int64_t n_samples
        int64_t n_positive
        int64_t n_tied
        const char *note
        size_t note_size
        const double *pairs
        int32_t source_rate_origin
        int32_t target_rate_origin
        double source_rate
        double target_rate
        int64_t source_count
        int64_t source_ones
        int64_t target_count
        int64_t target_ones
        int32_t out_of_range
        int32_t weights
        uint64_t fingerprint
        int32_t n_steps
        int32_t n_knots
        const int64_t *first_step
        const int64_t *step_counts
        const int64_t *unlabelled_counts
        const int64_t *tie_counts
        double edges_share
        double clip
        const double *knots
        const char *event
        size_t event_size
        const char *provenance
        size_t provenance_size
        int32_t n_slices
        const double *slice_cuts
        const int64_t *slice_label_sums
        const int64_t *atom_counts
        double sampling_rate
        const int64_t *pool_counts
        const int64_t *population_counts
        double accept_above
        double reject_below
        const char *decision
        size_t decision_size

    ctypedef struct fastbin_rows:
        size_t struct_size
        const void *scores
        ptrdiff_t score_stride
        size_t n_rows
        int32_t score_type
        int32_t nan_policy
        const uint64_t *keys
        uint64_t seed
        uint64_t first_row

    ctypedef struct fastbin_set:
        pass

    ctypedef struct fastbin_vector_map:
        double of_models
        double of_priors
        double least
        int32_t keep_top
        int32_t n_bins
        const double *slopes
        const double *intercepts
        const double *priors
        const double *mixing
        const double *edges
        const int64_t *counts
        const double *means
        const double *unlabelled

    ctypedef struct fastbin_set_spec:
        size_t struct_size
        int32_t kind
        int32_t key_type
        int32_t unknown
        int32_t pool
        int32_t n_models
        int32_t n_keys
        const fastbin_model *const *models
        const int64_t *int_keys
        const char *text
        const uint64_t *text_offsets
        const int32_t *model_of_key
        const int32_t *columns
        const char *provenance
        size_t provenance_size
        const fastbin_vector_map *vector

    const int FASTBIN_FLOAT64
    const int FASTBIN_FLOAT32
    const int FASTBIN_NAN_PROPAGATE
    const int FASTBIN_STEP
    const int FASTBIN_TIES_WHOLE
    const int FASTBIN_MAX_BINS
    const int FASTBIN_KEYS_INT
    const int FASTBIN_KEYS_TEXT
    const int FASTBIN_UNKNOWN_REFUSE
    const int FASTBIN_SET_VECTOR
    const int FASTBIN_MAX_KEY_SIZE
    const int FASTBIN_MAX_EVENT_SIZE
    const int FASTBIN_MAX_PROVENANCE_SIZE

    const char *fastbin_version()
    const char *fastbin_status_string(fastbin_status status)
    fastbin_status fastbin_model_create(const fastbin_model_spec *spec, fastbin_model **model)
    void fastbin_model_free(fastbin_model *model)
    fastbin_status fastbin_model_describe(const fastbin_model *model, fastbin_model_spec *spec)
    size_t fastbin_model_size(const fastbin_model *model)
    fastbin_status fastbin_model_write(const fastbin_model *model, void *buffer, size_t capacity)
    fastbin_status fastbin_model_read(const void *bytes, size_t size, fastbin_model **model)
    fastbin_status fastbin_predict_one(const fastbin_model *model, double score, uint64_t key, double *value)
    fastbin_status fastbin_assign_one(const fastbin_model *model, double score, uint64_t key, int32_t *bin)
    fastbin_status fastbin_step_one(const fastbin_model *model, double score, uint64_t key, int32_t *step)
    fastbin_status fastbin_predict(const fastbin_model *model, const fastbin_rows *rows, double *values, size_t *bad_row)
    fastbin_status fastbin_decide_one(const fastbin_model *model, double score, int32_t *decision)
    fastbin_status fastbin_decide(const fastbin_model *model, const fastbin_rows *rows, int8_t *decisions, size_t *bad_row)
    fastbin_status fastbin_assign(const fastbin_model *model, const fastbin_rows *rows, int32_t *bins, size_t *bad_row)
    fastbin_status fastbin_step(const fastbin_model *model, const fastbin_rows *rows, int32_t *steps, size_t *bad_row)
    fastbin_status fastbin_lookup(const fastbin_model *model, const fastbin_rows *rows, const double *table, size_t width,
                                  double *out, size_t *bad_row)
    void fastbin_set_free(fastbin_set *set)
    fastbin_status fastbin_set_describe(const fastbin_set *set, fastbin_set_spec *spec)
    size_t fastbin_set_size(const fastbin_set *set)
    fastbin_status fastbin_set_write(const fastbin_set *set, void *buffer, size_t capacity)
    fastbin_status fastbin_set_read(const void *bytes, size_t size, fastbin_set **set)
    int32_t fastbin_set_find_int(const fastbin_set *set, int64_t key)
    int32_t fastbin_set_find_text(const fastbin_set *set, const char *key, size_t size)
    fastbin_status fastbin_set_predict_one(const fastbin_set *set, int32_t model, double score, uint64_t key, double *value)
    fastbin_status fastbin_set_predict_batch(const fastbin_set *set, const int32_t *models, const fastbin_rows *rows,
                                             double *values, size_t *bad_row)
    fastbin_status fastbin_set_assign_batch(const fastbin_set *set, const int32_t *models, const fastbin_rows *rows,
                                            int32_t *bins, size_t *bad_row)
    fastbin_status fastbin_vector_predict(const fastbin_set *set, const double *probabilities, size_t n_rows, double *values,
                                          size_t *bad_entry)
    uint64_t fastbin_row_key(uint64_t seed, uint64_t row)
    uint64_t fastbin_group_key(uint64_t seed, double score, uint64_t j)
    void fastbin_group_keys(uint64_t seed, double score, uint64_t first, size_t n, uint64_t *keys)
    uint64_t fastbin_split_key(uint64_t seed, double score, uint64_t j)
    fastbin_status fastbin_draw_labels(uint64_t digest, double score, int64_t count, int64_t ones, int64_t chosen, int64_t *f,
                                       int64_t *y)
    uint64_t fastbin_hash_key(const void *salt, size_t salt_size, const void *id, size_t id_size)


# What the library keeps to itself: models in the form of a set, and a set that takes its models over.
cdef extern from "set.h" nogil:
    fastbin_status fastbin_make_model(const fastbin_model_spec *spec, int is_one_of_many, fastbin_model **model)
    fastbin_status fastbin_set_around(const fastbin_set_spec *spec, fastbin_model *const *models, fastbin_set **set)
