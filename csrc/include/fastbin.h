/*
 * fastbin.h: score with a calibrated model from C, or from anything that calls C.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 *
 * This header is the whole public API and its manual. It needs a C11 or C++17 compiler and nothing else:
 * no configuration step, no other header than <stddef.h> and <stdint.h>.
 *
 *     fastbin_model *model;
 *     double probability;
 *     fastbin_status status = fastbin_model_load("credit.fbm", &model);
 *     if (status != FASTBIN_OK) {
 *       fprintf(stderr, "credit.fbm: %s\n", fastbin_status_string(status));
 *       return 1;
 *     }
 *     fastbin_predict_one(model, 0.37, key_of_this_customer, &probability);
 *     fastbin_model_free(model);
 *
 * WHAT A MODEL IS
 *
 *   A classifier gives a score; a model turns it into a calibrated probability. It is a step function with its
 *   evidence: edges that cut the score line into bins, one value per bin, and the tally (how many samples, how
 *   many with label 1) from which each value was computed.
 *
 * TIES
 *
 *   Samples are ordered by the pair (score, key). Every edge has a key of its own, and a sample lies at or above an
 *   edge exactly when
 *
 *       score > edge,  or  score == edge and key >= edge_key.
 *
 *   So a key is looked at only when a score equals an edge bit for bit (0.0 and -0.0 are equal). An edge key of
 *   FASTBIN_KEY_ABOVE (0) sends every tied score above the edge, FASTBIN_KEY_BELOW (2^64 - 1) sends every tied score
 *   below it, and any other edge key splits the tied mass at random, exactly as it was split when the model was
 *   fitted. A key must be uniform on 0 ... 2^64 - 2 and independent of the sample's score and label: draw it from a
 *   generator, or hash the id of the entity with a secret salt so that the same entity always gets the same answer.
 *   Never hash the score. The key 2^64 - 1 is read as 2^64 - 2. Where no edge splits ties and no value is randomised,
 *   the key does not matter and may be 0; fastbin_needs_key() says so for one score.
 *
 * TWO RESOLUTIONS
 *
 *   A step model may serve more values than it has evidence for: each of its n_bins evidence bins is a run of whole steps, and
 *   each of its n_steps steps has a value of its own. Scoring looks at steps alone. "Bin" always means an evidence bin, to
 *   which the tally, the intervals, streams and monitors belong. In a model of one resolution each bin is one step.
 *
 * ERRORS
 *
 *   Functions that can fail return a fastbin_status: 0 is success, fastbin_status_string() gives the text. Nothing is
 *   clamped, guessed or printed, and nothing is reported through errno (scoring does not even touch it; the file
 *   functions may, as the C library does). On failure an out-parameter that receives a model is set to NULL; arrays
 *   may have been partly written.
 *
 *   Pointers are required unless a comment says "may be NULL". Functions that make, read, write or merge an object and the
 *   batch functions return FASTBIN_ERROR_ARGUMENT for a missing one. The *_one() functions, which are on the hot path, and
 *   those that read one number or pointer from an object do not check theirs.
 *
 * OWNERSHIP AND THREADS
 *
 *   The caller owns every buffer that it passes in; the library keeps no pointer to any of them after the call. A model
 *   is one block of memory from malloc(), immutable once made: any number of threads may score with one model at once,
 *   without a lock. Freeing it while another thread uses it is the caller's error. All state is in the objects.
 *
 * SAME INPUT, SAME OUTPUT
 *
 *   The bin and the value of a score are exact consequences of the definitions below, bit for bit the same on every
 *   machine, in single and in batch calls, whatever instructions the processor has; that is tested. Batch calls choose
 *   among several builds of one loop by what the processor can do when the model is made. The environment variable
 *   FASTBIN_CPU, read then, restricts them: "baseline", "avx2" or "avx512".
 *
 *   The floating-point environment may be any, also another one than that in which the model was made or read: each
 *   direction of rounding, and processors that take subnormal operands for zero or flush subnormal results, as
 *   -ffast-math sets them at program start. Bins, and the values of FASTBIN_STEP models with delta = 0, are the same to
 *   the bit; other values are in [0, 1] and differ by rounding, by less than 1e-12 where the terms of the map are at most
 *   1,000 in size. FASTBIN_SMOOTH models call exp() and log() of the C library, whose last bit may differ between systems.
 */
#ifndef FASTBIN_H
#define FASTBIN_H

#include <stddef.h>
#include <stdint.h>

/*
 * The version: stated here and nowhere else; setup.py, CMake and make read these lines.
 *
 * Promised within one major version: a program compiled against an older header works with a newer library. Structs only
 * grow at their end (each begins with its size), and status codes and enumerators keep their numbers. Keys, edges and
 * values never change their meaning, as files outlive versions. Not promised: which of several errors is reported, the
 * texts, the memory a model takes, the speed.
 */
#define FASTBIN_VERSION_MAJOR 0
#define FASTBIN_VERSION_MINOR 2
#define FASTBIN_VERSION_PATCH 0
#define FASTBIN_VERSION_STRING "0.2.0"

/* Define FASTBIN_SHARED when linking the shared library on Windows; CMake does it for its users. */
#if defined(FASTBIN_SHARED) && defined(_WIN32)
#  ifdef FASTBIN_BUILD
#    define FASTBIN_API __declspec(dllexport)
#  else
#    define FASTBIN_API __declspec(dllimport)
#  endif
#elif defined(FASTBIN_SHARED) && (defined(__GNUC__) || defined(__clang__))
#  define FASTBIN_API __attribute__((visibility("default")))
#else
#  define FASTBIN_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the library that is linked, which may be newer than this header: "MAJOR.MINOR.PATCH". Static text. */
FASTBIN_API const char *fastbin_version(void);

/* ------------------------------------------------------------------------------------------------------------- */
/* Status                                                                                                        */
/* ------------------------------------------------------------------------------------------------------------- */

/* The result of a call. The numbers never change; the gaps are for future codes, so compare with FASTBIN_OK. */
typedef enum fastbin_status {
  FASTBIN_OK = 0,
  /* The call. */
  FASTBIN_ERROR_ARGUMENT = 10,      /* NULL where a pointer is required, a size of zero, an unknown enumerator, a model
                                       of a kind that cannot do this */
  FASTBIN_ERROR_STRUCT_SIZE = 11,   /* struct_size was not set, is not that of a release of the struct, or covers members
                                       that are set but that this version of the library does not know */
  FASTBIN_ERROR_MEMORY = 20,        /* malloc failed, or the size does not fit in a size_t */
  FASTBIN_ERROR_BUFFER = 21,        /* the buffer given is smaller than the result */
  /* The scores. */
  FASTBIN_ERROR_SCORE_NAN = 30,     /* a score is NaN */
  FASTBIN_ERROR_SCORE_RANGE = 31,   /* a score is outside the model's range, or infinite */
  FASTBIN_ERROR_CELL = 32,          /* the key of a row is not in a set that refuses unknown keys */
  /* The spec given to fastbin_model_create. */
  FASTBIN_ERROR_EDGES = 40,         /* edges not finite, not in ascending order of (edge, key), or unfit for the kind or for
                                       whole ties; first steps of bins that do not ascend from 0 below n_steps */
  FASTBIN_ERROR_VALUES = 41,        /* a value, or one of a pair, that is not in [0, 1], or a pair in descending order */
  FASTBIN_ERROR_TALLY = 42,         /* a count that is negative, a label sum that is not in 0 ... count, only one of the two
                                       given, a tally on a model that is not FASTBIN_STEP, tie counts that contradict the tally
                                       or the tie rule, or counts of steps that do not add up to those of their bin and to n_samples */
  FASTBIN_ERROR_WEIGHTS = 43,       /* weight sums that are negative, not finite, only partly given, without a tally, or
                                       impossible: w y above w, or squares that contradict Cauchy and Schwarz */
  FASTBIN_ERROR_RANGE = 44,         /* a score range without a finite score, or NaN */
  FASTBIN_ERROR_MAP = 45,           /* map parameters, clip or knots that are not finite, out of bounds, or given where they
                                       should be unused, or a map where there can be none */
  FASTBIN_ERROR_ORIGIN = 46,        /* n_samples, n_positive, n_tied, n_bins_asked, delta, odds_ratio, edges_share, sampling_rate,
                                       the class rates or thresholds impossible, a tally of more samples than n_samples or of
                                       far fewer, or an event, a provenance or a decision that is too long or not UTF-8 */
  FASTBIN_ERROR_SET = 47,           /* the keys, model numbers or columns of a fastbin_set_spec are not those of a set */
  /* The bytes given to fastbin_model_read. */
  FASTBIN_ERROR_MAGIC = 60,         /* not a fastbin model, or damaged by a text-mode transfer */
  FASTBIN_ERROR_FORMAT_VERSION = 61,/* written by a newer fastbin than this one can read: update the library */
  FASTBIN_ERROR_LENGTH = 62,        /* truncated, or with bytes after the end */
  FASTBIN_ERROR_CHECKSUM = 63,      /* the checksum does not match: damaged */
  FASTBIN_ERROR_CONTENT = 64,       /* the checksum matches but the content contradicts itself */
  /* Files. */
  FASTBIN_ERROR_OPEN = 80,          /* the file does not exist or may not be read; saving: its folder may not be written */
  FASTBIN_ERROR_READ = 81,          /* reading failed half-way */
  FASTBIN_ERROR_WRITE = 82          /* writing failed, a full disk for instance; what was at `path` is still there */
} fastbin_status;

/* One English sentence for a status, also for an unknown number. Static text, never NULL. */
FASTBIN_API const char *fastbin_status_string(fastbin_status status);

/* ------------------------------------------------------------------------------------------------------------- */
/* Model                                                                                                         */
/* ------------------------------------------------------------------------------------------------------------- */

/* A fitted model: opaque and immutable. Made by fastbin_model_create(), _read() or _load(); freed by fastbin_model_free(). */
typedef struct fastbin_model fastbin_model;

/* How a score becomes a probability. */
typedef enum fastbin_kind {
  FASTBIN_STEP = 0,    /* the value of the score's step: n_steps - 1 edges, n_steps values. The only kind with bins, keys,
                          a tally and, perhaps, a guarantee */
  FASTBIN_LINEAR = 1,  /* straight lines between knots (edges[i], values[i]), level outside: n_bins of each, knots strictly
                          ascending, no keys. Interpolated isotonic regression. Between knots x0 <= s < x1 with values v0
                          and v1 the value is v0 + (v1 - v0) * ((s - x0) / (x1 - x0)) in double arithmetic, not let past v1
                          by rounding; s, x0 and x1 are halved first where x1 - x0 overflows */
  FASTBIN_SMOOTH = 2   /* the map below alone; no edges, no values, n_bins = 0 */
} fastbin_kind;

/*
 * The smooth maps, in double arithmetic. A term whose coefficient is 0 is 0, at s = 0 and s = 1 too; LOGISTIC and BETA rise
 * where their slopes are > 0.
 *
 * All but LOGISTIC take logarithms, and a FASTBIN_SMOOTH model of them needs its score range within [0, 1]. Below, a is s and
 * b is 1 - s, each moved into [clip, 1 - clip], and z = log(a) - log(b).
 */
typedef enum fastbin_map {
  FASTBIN_MAP_NONE = 0,
  FASTBIN_MAP_LOGISTIC = 1,  /* 1 / (1 + exp(-(p0 * s + p1))): Platt scaling on the score */
  FASTBIN_MAP_BETA = 2,      /* 1 / (1 + exp(-(p0 * log(a) - p1 * log(b) + p2))): beta calibration; temperature scaling
                                is p0 = p1, p2 = 0 */
  FASTBIN_MAP_QUADRATIC = 3, /* 1 / (1 + exp(-(p0 + z * (p1 + z * p2)))) */
  FASTBIN_MAP_SPLINE = 4     /* 1 / (1 + exp(-g(z))) with the natural cubic spline g through the knots, straight lines with the
                                slopes of its ends beyond them */
} fastbin_map;

/* The method that made the partition and the values. Recorded, not interpreted, by the library; unknown numbers are refused. */
typedef enum fastbin_scheme {
  FASTBIN_SCHEME_OTHER = 0,
  FASTBIN_SCHEME_UMD = 1,            /* uniform-mass, double dipped (Gupta and Ramdas 2021, Algorithm 1) */
  FASTBIN_SCHEME_ZE = 2,             /* the original of Zadrozny and Elkan (ibid., Corollary 1) */
  FASTBIN_SCHEME_UMS = 3,            /* uniform-mass, sample splitting (Gupta, Podkopaev and Ramdas 2020, 4.2) */
  FASTBIN_SCHEME_UMB = 4,            /* uniform-mass (Sun, Song and Hero 2023, Definition 6) */
  FASTBIN_SCHEME_FIXED_WIDTH = 10,
  FASTBIN_SCHEME_EXPLICIT = 11,      /* edges given by the user before seeing the data */
  FASTBIN_SCHEME_SCALING_BINNING = 20,
  FASTBIN_SCHEME_CERTIFIED = 21,     /* evidence bins of uniform mass, finer values inside them */
  FASTBIN_SCHEME_CERTIFIED_FINE = 22,  /* the same with a step around every score of the fit */
  FASTBIN_SCHEME_ISOTONIC = 30,
  FASTBIN_SCHEME_PLATT = 40,
  FASTBIN_SCHEME_TEMPERATURE = 41,
  FASTBIN_SCHEME_BETA = 42,
  FASTBIN_SCHEME_QUADRATIC = 43,     /* a quadratic in the logit */
  FASTBIN_SCHEME_SPLINE = 44         /* a natural cubic spline in the logit */
} fastbin_scheme;

/* How the fit treated equal scores. */
typedef enum fastbin_ties {
  FASTBIN_TIES_NONE = 0,     /* the method has no boundary samples */
  FASTBIN_TIES_RANDOM = 1,   /* split by keys, exactly */
  FASTBIN_TIES_UPPER = 2,    /* a score equal to an edge goes above it */
  FASTBIN_TIES_LOWER = 3,    /* a score equal to an edge goes below it */
  FASTBIN_TIES_ISOLATE = 4,  /* a score value at which several edges fall is a bin of its own */
  FASTBIN_TIES_WHOLE = 5     /* edges lie between whole groups of equal scores, and the tally is conditioned on that: see
                                tie_counts. No key decides. Where no group of several samples held a boundary, a fit is
                                recorded as UPPER (or LOWER), which is then the same rule */
} fastbin_ties;

/* Where the class rate of a label-shifted model comes from. */
typedef enum fastbin_rate {
  FASTBIN_RATE_NONE = 0,       /* the model was not moved */
  FASTBIN_RATE_GIVEN = 1,      /* taken as exact */
  FASTBIN_RATE_COUNTED = 2,    /* the share of label 1 among the samples counted; intervals can include its error */
  FASTBIN_RATE_ESTIMATED = 3   /* from scores without labels */
} fastbin_rate;

/* How a finite score outside the range of the model is treated. An infinite score is always refused. */
typedef enum fastbin_out_of_range {
  FASTBIN_OUT_OF_RANGE_REFUSE = 0, /* FASTBIN_ERROR_SCORE_RANGE */
  FASTBIN_OUT_OF_RANGE_CLIP = 1    /* it is scored as the nearest end of the range */
} fastbin_out_of_range;

/* Where the weights of a weighted model come from. */
typedef enum fastbin_weights {
  FASTBIN_WEIGHTS_GIVEN = 0,
  FASTBIN_WEIGHTS_ESTIMATED = 1    /* right in the limit only: intervals need a bound on their error */
} fastbin_weights;

#define FASTBIN_KEY_ABOVE ((uint64_t)0)  /* as an edge's key: ties go above it, whatever the sample's key */
#define FASTBIN_KEY_BELOW (UINT64_MAX)   /* ties go below it */
#define FASTBIN_MAX_BINS 16777216        /* 2^24; of steps, too */
#define FASTBIN_MAX_KNOTS 1000           /* of a spline */
#define FASTBIN_MAX_EVENT_SIZE 256       /* bytes of the name of an event */
#define FASTBIN_MAX_PROVENANCE_SIZE 65536 /* bytes of a provenance */
#define FASTBIN_MAX_DECISION_SIZE 4194304 /* bytes of the record of a decision */

/*
 * Everything a model is made of. Fill one (zero it first, set struct_size, the range and odds_ratio) to create a model;
 * fastbin_model_describe() fills one from a model, with pointers into the model that live as long as it does.
 *
 * -0.0 is taken as 0.0 in every member.
 */
typedef struct fastbin_model_spec {
  size_t struct_size;         /* sizeof(fastbin_model_spec) */
  int32_t kind;               /* fastbin_kind */
  int32_t scheme;             /* fastbin_scheme */
  int32_t ties;               /* fastbin_ties */
  int32_t map;                /* fastbin_map: the map of a FASTBIN_SMOOTH model; on a step model, the map whose bins were
                                 pulled back into the edges (evidence; scoring never evaluates it) */
  double map_parameters[4];   /* p0 ... p3; unused ones 0 */

  int32_t n_bins;             /* STEP: 1 ... FASTBIN_MAX_BINS, evidence bins. LINEAR: as many knots. SMOOTH: 0 */
  int32_t n_bins_asked;       /* as requested; may differ from n_bins. 0 where nothing was requested */
  const double *edges;        /* finite, ascending by (edge, key). STEP: n_steps - 1, and equal pairs are allowed (no sample
                                 can lie between them). LINEAR: n_bins. May be NULL when there are none, and then is */
  const uint64_t *edge_keys;  /* one per edge. May be NULL: FASTBIN_KEY_ABOVE for all. Described: NULL only without edges */
  const double *values;       /* n_steps (LINEAR: n_bins), each in [0, 1] */

  const int64_t *counts;      /* samples averaged in each bin; NULL: no tally (then label_sums is NULL too). Over all bins
                                 at most n_samples, and n_positive and n_samples - n_positive for the two labels */
  const int64_t *label_sums;  /* of these, samples with label 1 */
  const double *weight_sums;           /* sum of w in each bin; NULL for an unweighted model, then the next two as well */
  const double *weighted_label_sums;   /* sum of w y */
  const double *weight_square_sums;    /* sum of w w */

  double score_min;           /* scores outside [score_min, score_max] are refused; -INFINITY and INFINITY for any finite */
  double score_max;
  double delta;               /* size of the value randomisation (Gupta and Ramdas 2021, Algorithm 2), STEP only; 0: none.
                                 Less than 1. A sample with key k in a bin of value v is given (v + delta V(k)) /
                                 (1 + delta), V(k) being uniform on [0, 1) and spelled out in FORMAT.md */
  double odds_ratio;          /* label shift: the values are those of the fit after z -> r z / (r z + 1 - z), with r this
                                 number; positive; 1: none. Recorded: scoring does not apply it again. The tally is that of
                                 the source; the rates are at the end of this struct */
  uint64_t seed;              /* of the fit */
  int64_t n_samples;          /* samples seen by the fit, dropped and split-off ones included */
  int64_t n_positive;         /* of these, samples with label 1 */
  int64_t n_tied;             /* of these, samples that share their score with another one and with an edge at which the tie
                                 rule (random, upper or lower) decides. With isolate, scores that are bins do not count */

  const char *note;           /* free text, UTF-8, not NUL-terminated; by convention JSON written by the fitting program.
                                 Not interpreted. NULL when note_size is 0 */
  size_t note_size;

  /* Since 0.2.0. Structs of 0.1.0 end here, and are read as if what follows were 0. */
  const double *pairs;        /* Venn-Abers: two probabilities for each step, the lower first, 2 n_steps in all; NULL: none.
                                 STEP only */
  int32_t source_rate_origin; /* fastbin_rate: label shift. Both NONE, or both not. STEP only. A model whose odds_ratio is not 1
                                 and whose origins are NONE was moved by 0.1.0, and has no valid intervals */
  int32_t target_rate_origin;
  double source_rate;         /* the class rates that moved the values, in (0, 1), and odds_ratio is what they give; 0: NONE */
  double target_rate;
  int64_t source_count;       /* COUNTED: labels counted, at least 1, and how many of them are 1. ESTIMATED: scores looked at, */
  int64_t source_ones;        /*   at least 1, and 0. Otherwise 0 */
  int64_t target_count;
  int64_t target_ones;
  int32_t out_of_range;       /* fastbin_out_of_range */
  int32_t weights;            /* fastbin_weights; 0 without weights */
  uint64_t fingerprint;       /* of the samples of the fit, to recognise a test set that consists of them (FORMAT.md, "Keys");
                                 0: none */
  int32_t n_steps;            /* STEP: n_bins ... FASTBIN_MAX_BINS; 0 is read as n_bins. Otherwise 0 */
  int32_t n_knots;            /* SPLINE: 2 ... FASTBIN_MAX_KNOTS. Otherwise 0 */
  const int64_t *first_step;  /* the first step of each bin, n_bins, ascending strictly from 0. NULL: each bin is one step; where
                                 n_steps == n_bins it is forgotten, and the next two with it */
  const int64_t *step_counts; /* n_steps: samples of the fit in each step, the left-out one among them, so that those of a bin
                                 add up to all of its samples. Needed where n_steps > n_bins; NULL without first_step */
  const int64_t *unlabelled_counts; /* n_steps: samples without a label in each step. NULL: none; all 0 is read as NULL */
  const int64_t *tie_counts;  /* WHOLE, and there only: r, f and y of each bin, 3 n_bins in all. That the edge lies where it lies
                                 says that r samples of its score at least are in the bin; f is the label sum of r of these,
                                 drawn at random, and y the label of one of the r (FORMAT.md, "Drawn labels"). Where no rank
                                 placed the edge, all three are 0. For UMD and both CERTIFIED schemes a bin with r > 0 and
                                 without weights holds counts + 1 samples, with the label sum label_sums + y; otherwise counts
                                 and label_sums are its totals, and the r samples are among them. n_tied is positive, and
                                 every edge has the key ABOVE or BELOW */
  double edges_share;         /* with tie_counts, the share of the samples that placed the edges, in (0, 1]; otherwise 0 */
  double clip;                /* BETA, QUADRATIC and SPLINE: how far scores are kept from 0 and 1 before a logarithm, in
                                 [0, 1/2) */
  const double *knots;        /* SPLINE: position in the logit, value in the logit and second derivative of each knot, 3 n_knots
                                 in all, at most 1e100 in size; positions ascending, the first and last derivative 0 */
  const char *event;          /* the name of the event that the values are the probability of, such as the label that counted as
                                 1: UTF-8, not NUL-terminated; any character, control characters and NUL too, so escape it where
                                 it is printed. NULL when event_size is 0: the event is "label 1" */
  size_t event_size;          /* at most FASTBIN_MAX_EVENT_SIZE bytes */
  const char *provenance;     /* how the model came about, as canonical JSON that the fitting program wrote (FORMAT.md,
                                 "Provenance"): UTF-8, not NUL-terminated, not interpreted. NULL when provenance_size is 0 */
  size_t provenance_size;     /* at most FASTBIN_MAX_PROVENANCE_SIZE bytes */
  int32_t n_slices;           /* STEP: slices of equal mass, evidence for promises about a truth that rises with the score.
                                 0: none; otherwise 2 ... FASTBIN_MAX_BINS, and at least twice as many n_samples. The cut above
                                 slice b, from 1, is the sample of rank ceil(b (n_samples + 1) / n_slices) (FORMAT.md, "Slices") */
  const double *slice_cuts;   /* n_slices - 1: the scores of these samples, ascending. NULL without slices */
  const int64_t *slice_label_sums; /* n_slices: samples with label 1 strictly between cuts. NULL without slices */
  const int64_t *atom_counts; /* with tie_counts, 2 n_bins in all: how many samples of each bin have the score of its edge, and
                                 how many of those label 1; both 0 where r is. NULL: not known */
  double sampling_rate;       /* samples with label 0 were kept at random with this known rate, in (0, 1], and the values, moved by
                                 an odds_ratio of the same number, are those of the population; the tally is that of the sample.
                                 STEP only, and without class rates. 0: none */
  const int64_t *pool_counts; /* n_bins: rows of the pool in each bin, from which the labelled ones, at least as many as `counts`
                                 says, were drawn bin by bin: shares of bins among `counts` mean nothing. NULL: none */
  const int64_t *population_counts; /* n_bins: rows in each bin of a batch of known size, the labelled ones, at least `counts`,
                                 among them; promises are about the batch. NULL: none. Both need a tally, and each of the two
                                 adds up to at most 2^53 */
  double accept_above;        /* with a decision: a score above is accepted, INFINITY: none; greater than -INFINITY */
  double reject_below;        /* with a decision: a score below is rejected, -INFINITY: none; at most accept_above, so that none is
                                 both, and less than INFINITY. Without a decision both are 0 */
  const char *decision;       /* how the two thresholds came about, as JSON: UTF-8, not NUL-terminated, not interpreted. NULL when
                                 decision_size is 0: the model carries no decision */
  size_t decision_size;       /* at most FASTBIN_MAX_DECISION_SIZE bytes */
} fastbin_model_spec;

/*
 * Copy a spec into a new model, checking all of it, and prepare the search. Reads nothing beyond the arrays that the spec
 * describes. O(n_steps) time. Memory: the arrays, the texts, for the search 16 to 60 bytes a step and a table of at most 128 KB
 * (at most 16 KB up to 512 steps; five times as much, up to 80 KB, on some processors).
 */
FASTBIN_API fastbin_status fastbin_model_create(const fastbin_model_spec *spec, fastbin_model **model);

/* Free a model. NULL is allowed. */
FASTBIN_API void fastbin_model_free(fastbin_model *model);

/* Show what a model is made of. Set spec->struct_size first; its other members are overwritten, and those that this version
   of the library does not know are zeroed. FASTBIN_ERROR_STRUCT_SIZE for a struct of 0.1.0 if the model has more steps than
   bins, as n_bins would then not be the length of `values`. O(1): nothing is copied. */
FASTBIN_API fastbin_status fastbin_model_describe(const fastbin_model *model, fastbin_model_spec *spec);

/* ------------------------------------------------------------------------------------------------------------- */
/* Bytes and files (FORMAT.md is the specification)                                                              */
/* ------------------------------------------------------------------------------------------------------------- */

/* The number of bytes that fastbin_model_write() will write: about 250, plus 24 to 128 a step, plus the texts. O(1). NULL: 0. */
FASTBIN_API size_t fastbin_model_size(const fastbin_model *model);

/*
 * Write the model to a buffer of `capacity` bytes, at least fastbin_model_size(); FASTBIN_ERROR_BUFFER, with nothing written,
 * if it is smaller. The same model always gives the same bytes, on any machine. Bytes after them are not changed.
 */
FASTBIN_API fastbin_status fastbin_model_write(const fastbin_model *model, void *buffer, size_t capacity);

/*
 * Read a model from exactly `size` bytes, of any alignment. The bytes are not trusted: every length, order and checksum is
 * verified before it is used, and the content must pass fastbin_model_create(), whose refusals are reported as
 * FASTBIN_ERROR_CONTENT. Reading and writing again gives the same bytes, except that optional sections of a later version
 * of fastbin are dropped. O(size); at most about three times `size` is allocated, plus
 * the search table. The checksum guards against damage, not against forgery: anyone who can write the file can make it valid.
 */
FASTBIN_API fastbin_status fastbin_model_read(const void *bytes, size_t size, fastbin_model **model);

/*
 * The same with files, by the names that fopen() takes. Saving writes to a temporary name beside `path` (its name, cut to 200
 * bytes, with ".", 16 hexadecimal digits and ".tmp" appended) and renames it, so that a reader never sees half a model and a
 * failure leaves the old file; several threads or processes may save to one path, and one of them wins. A link at `path` is followed, the mode of a file
 * that is replaced is kept, and a device or a pipe is written to in place; on Windows none of
 * these is checked. Not promised: that the new name survives a power failure right after the call.
 */
FASTBIN_API fastbin_status fastbin_model_save(const fastbin_model *model, const char *path);
FASTBIN_API fastbin_status fastbin_model_load(const char *path, fastbin_model **model);

/* ------------------------------------------------------------------------------------------------------------- */
/* One score                                                                                                     */
/* ------------------------------------------------------------------------------------------------------------- */

/*
 * The cost of a search: one comparison beside a small table, for up to 65,535 edges that are spread evenly, crowd towards
 * either end, or lie in between; a logarithmic number of comparisons at worst. A few nanoseconds. No lock, no allocation.
 */

/* The calibrated probability of one score. `key` decides ties and value randomisation (see TIES). On failure *value is NaN. */
FASTBIN_API fastbin_status fastbin_predict_one(const fastbin_model *model, double score, uint64_t key, double *value);

/* The bin of one score, 0 ... n_bins - 1 (STEP models only; otherwise FASTBIN_ERROR_ARGUMENT). On failure *bin is -1. */
FASTBIN_API fastbin_status fastbin_assign_one(const fastbin_model *model, double score, uint64_t key, int32_t *bin);

/* The same for the step of one score, 0 ... n_steps - 1. */
FASTBIN_API fastbin_status fastbin_step_one(const fastbin_model *model, double score, uint64_t key, int32_t *step);

/* Compare one score with the thresholds of the decision that the model carries: 1 if it is above accept_above, -1 if it is below
   reject_below, otherwise 0. FASTBIN_ERROR_ARGUMENT if the model carries none. A score is refused, or taken as an end of the range, as
   in fastbin_predict_one(). On failure *decision is 0. */
FASTBIN_API fastbin_status fastbin_decide_one(const fastbin_model *model, double score, int32_t *decision);

/* 1 when the answer for this score depends on the key: it equals an edge that splits ties at random, or the model randomises
   values. 0 otherwise, and for a score that would be refused. Only then does a key have to be drawn. */
FASTBIN_API int fastbin_needs_key(const fastbin_model *model, double score);

/* ------------------------------------------------------------------------------------------------------------- */
/* Many scores                                                                                                   */
/* ------------------------------------------------------------------------------------------------------------- */

/* The type of a score in memory. */
typedef enum fastbin_type { FASTBIN_FLOAT64 = 0, FASTBIN_FLOAT32 = 1 } fastbin_type;

/* How a NaN score is treated: as an error, or with the result NaN (bin -1). An infinite score is always an error. */
typedef enum fastbin_nan { FASTBIN_NAN_ERROR = 0, FASTBIN_NAN_PROPAGATE = 1 } fastbin_nan;

/* The rows to be scored. Zero it first, set struct_size. Read, never written. */
typedef struct fastbin_rows {
  size_t struct_size;        /* sizeof(fastbin_rows) */
  const void *scores;        /* the first score; need not be aligned. May be NULL when n_rows is 0. float32 scores are
                                compared exactly, as doubles: (float)0.1 is above 0.1 */
  ptrdiff_t score_stride;    /* bytes from one score to the next, may be negative or 0; sizeof(double) when contiguous */
  size_t n_rows;             /* may be 0 */
  int32_t score_type;        /* fastbin_type */
  int32_t nan_policy;        /* fastbin_nan */
  const uint64_t *keys;      /* one key per row, contiguous, aligned. May be NULL: row i has fastbin_row_key(seed, first_row +
                                i), which is good for rows that are scored once; for entities that come back, hash their ids */
  uint64_t seed;             /* any number; ignored when keys are given */
  uint64_t first_row;        /* so that rows scored in blocks get the keys they would get in one call */
} fastbin_rows;

/*
 * In the calls below, on FASTBIN_ERROR_SCORE_NAN and FASTBIN_ERROR_SCORE_RANGE *bad_row (may be NULL) is the first bad
 * row, counted from 0 in this call, and what was written to the output is unspecified; on other errors neither is touched.
 * The output may be the scores' own memory if those are contiguous float64 and the output has one double per row; any other
 * overlap is the caller's error. A row costs one to two nanoseconds, a few more where it ties with an edge that splits ties.
 * No allocation, about 10 KB of stack; rows are read in order.
 */

/* Calibrated probabilities: values[i] for row i, the same as fastbin_predict_one() gives. */
FASTBIN_API fastbin_status fastbin_predict(const fastbin_model *model, const fastbin_rows *rows, double *values,
                                           size_t *bad_row);

/* Bin numbers, 0 ... n_bins - 1 (STEP models only; otherwise FASTBIN_ERROR_ARGUMENT). */
FASTBIN_API fastbin_status fastbin_assign(const fastbin_model *model, const fastbin_rows *rows, int32_t *bins,
                                          size_t *bad_row);

/* Step numbers, 0 ... n_steps - 1 (STEP models only; otherwise FASTBIN_ERROR_ARGUMENT). */
FASTBIN_API fastbin_status fastbin_step(const fastbin_model *model, const fastbin_rows *rows, int32_t *steps,
                                        size_t *bad_row);

/* One row of a table per score: out[i * width + c] = table[bin(i) * width + c], for a table of n_bins rows; NaN rows where
   NaN propagates. For intervals ({value, lower, upper}: width 3), sets, anything that depends on the bin. STEP models only.
   A width of 0 is FASTBIN_ERROR_ARGUMENT. Values of the table are copied as they are, and not randomised. */
FASTBIN_API fastbin_status fastbin_lookup(const fastbin_model *model, const fastbin_rows *rows, const double *table,
                                          size_t width, double *out, size_t *bad_row);

/* What fastbin_decide_one() says of each row, 1, 0 or -1; 0 where NaN propagates. Keys are not looked at, and `decisions` may not
   overlap the scores. FASTBIN_ERROR_ARGUMENT if the model carries no decision. */
FASTBIN_API fastbin_status fastbin_decide(const fastbin_model *model, const fastbin_rows *rows, int8_t *decisions,
                                          size_t *bad_row);

/* ------------------------------------------------------------------------------------------------------------- */
/* Sets: many models behind one key (FORMAT.md gives the bytes)                                                  */
/* ------------------------------------------------------------------------------------------------------------- */

/*
 * A set maps the key of a cell, such as a segment or a class, to the model of that cell. Cells with too few samples may share
 * one model, the pool. Finding a model and scoring with it are two steps, so that a caller looks up each key once:
 *
 *     fastbin_set_load("segments.fbm", &set);
 *     model = fastbin_set_find_text(set, "retail", 6);
 *     status = fastbin_set_predict_one(set, model, 0.37, key_of_this_customer, &probability);
 *
 * Do not mix up the key of a cell with the tie key of a sample. A set is immutable, like a model, and owns all that is in it.
 */
typedef struct fastbin_set fastbin_set;

/* What the cells of a set are. Recorded, not interpreted, by the library; unknown numbers are refused. */
typedef enum fastbin_set_kind {
  FASTBIN_SET_GIVEN = 0,
  FASTBIN_SET_SEGMENTS = 1,
  FASTBIN_SET_TOP_LABEL = 2,  /* the class of the highest probability, and its probability is the score */
  FASTBIN_SET_CLASS_WISE = 3, /* each class against the others; every row is scored by every model */
  FASTBIN_SET_VECTOR = 4      /* the same, and a map that makes one vector of the values: fastbin_vector_predict() */
} fastbin_set_kind;

typedef enum fastbin_key_type { FASTBIN_KEYS_INT = 0, FASTBIN_KEYS_TEXT = 1 } fastbin_key_type;

/* What a key does that is not in the set. */
typedef enum fastbin_unknown {
  FASTBIN_UNKNOWN_REFUSE = 0, /* FASTBIN_ERROR_CELL */
  FASTBIN_UNKNOWN_POOL = 1    /* the row is scored by the pool, without any promise */
} fastbin_unknown;

#define FASTBIN_MAX_KEY_SIZE 1024 /* bytes of a text */

/*
 * The map of a VECTOR set of K >= 2 classes without a pool, whose arrays follow its columns. Its models are step functions without
 * random keys that take every probability. With p the row, z = log(max(p, least)) and q the values that the models of the classes
 * give to their columns:
 *
 *     u_k = slopes_k z_k + sum over j of mixing_kj z_j + intercepts_k + of_models log(max(q_k, 1e-12))
 *     value_k = (1 - of_priors) e^u_k / (sum over j of e^u_j) + of_priors priors_k
 *
 * With keep_top, entries above that of the column where p is largest (of equal ones the lowest) come down to the double below it,
 * and it takes what they lose. The bins are evidence: in group g, the scores p_g for g < K and max p for g = K, with the label that
 * the class is g, or that of the largest entry. Scoring does not look at them.
 */
typedef struct fastbin_vector_map {
  double of_models;         /* in [0, 1] */
  double of_priors;         /* in (0, 1) */
  double least;             /* in (0, 0.1], and not below DBL_MIN */
  int32_t keep_top;         /* 0 or 1 */
  int32_t n_bins;           /* of each group; 0 without evidence */
  const double *slopes;     /* K */
  const double *intercepts; /* K */
  const double *priors;     /* K, positive, with the sum 1 */
  const double *mixing;     /* K x K by rows, for at most FASTBIN_MAX_MIXED classes; NULL: zeros */
  const double *edges;      /* (K + 1) x (n_bins - 1), not falling, in [0, 1]: a bin begins with its lower edge */
  const int64_t *counts;    /* (K + 1) x n_bins x 2: the rows of the fit in each bin, and those with the label */
  const double *means;      /* (K + 1) x n_bins: what these rows are served on average */
  const double *unlabelled; /* (K + 1) x n_bins x 3: of other rows, how many, what they are served on average, and the variance of
                               that; NULL: there were none */
} fastbin_vector_map;

#define FASTBIN_MAX_MIXED 64

/* Everything a set is made of, as fastbin_model_spec is for a model. */
typedef struct fastbin_set_spec {
  size_t struct_size;           /* sizeof(fastbin_set_spec) */
  int32_t kind;                 /* fastbin_set_kind */
  int32_t key_type;             /* fastbin_key_type */
  int32_t unknown;              /* fastbin_unknown; POOL needs a pool */
  int32_t pool;                 /* the number of the pool's model, n_models - 1; -1: no pool. It has keys, or unknown is POOL */
  int32_t n_models;             /* at least 1 */
  int32_t n_keys;               /* at least 1 */
  const fastbin_model *const *models; /* in the order of the keys they belong to, the pool last */
  const int64_t *int_keys;      /* INT: n_keys, strictly ascending; TEXT: NULL */
  const char *text;             /* TEXT: the keys one after another, UTF-8 of 1 ... FASTBIN_MAX_KEY_SIZE bytes each, strictly
                                   ascending by bytes; INT: NULL */
  const uint64_t *text_offsets; /* TEXT: n_keys + 1: where each begins in `text`, from 0, and where the last one ends */
  const int32_t *model_of_key;  /* n_keys: the pool's number, or the next of the others. May be NULL without a pool: key i has
                                   model i. Described: never NULL */
  const int32_t *columns;       /* TOP_LABEL, CLASS_WISE and VECTOR: n_keys: the column of the table of probabilities that belongs to
                                   each key. NULL: key i has column i, which is also how that is described */
  const char *provenance;       /* of the set as a whole, as in fastbin_model_spec; FASTBIN_ERROR_ORIGIN if it cannot be one */
  size_t provenance_size;
  const fastbin_vector_map *vector; /* VECTOR: the map; other kinds: NULL */
} fastbin_set_spec;

/* Copy a spec, its models included, into a new set, checking all of it (FASTBIN_ERROR_SET). *set is NULL on failure.
   O(size of the models). Memory: their arrays, 16 to 32 bytes a step for the search, whose tables are smaller than those of a model
   alone, 600 bytes a model, and up to 80 bytes a key besides its text. */
FASTBIN_API fastbin_status fastbin_set_create(const fastbin_set_spec *spec, fastbin_set **set);

/* Free a set. NULL is allowed. */
FASTBIN_API void fastbin_set_free(fastbin_set *set);

/* Show what a set is made of, with pointers into it that live as long as it does. Set spec->struct_size first. */
FASTBIN_API fastbin_status fastbin_set_describe(const fastbin_set *set, fastbin_set_spec *spec);

/* A set as bytes and in files, as the functions of these names do it for a model. Reading takes about two nanoseconds a byte. */
FASTBIN_API size_t fastbin_set_size(const fastbin_set *set);
FASTBIN_API fastbin_status fastbin_set_write(const fastbin_set *set, void *buffer, size_t capacity);
FASTBIN_API fastbin_status fastbin_set_read(const void *bytes, size_t size, fastbin_set **set);
FASTBIN_API fastbin_status fastbin_set_save(const fastbin_set *set, const char *path);
FASTBIN_API fastbin_status fastbin_set_load(const char *path, fastbin_set **set);

/* The number of the model for a key; -1 where the key is unknown or of the other type. O(1), a few nanoseconds; O(log n_keys) in
   a set whose keys were chosen to have one hash. The pointer to a text of size 0 may be NULL. */
FASTBIN_API int32_t fastbin_set_find_int(const fastbin_set *set, int64_t key);
FASTBIN_API int32_t fastbin_set_find_text(const fastbin_set *set, const char *key, size_t size);

/* fastbin_predict_one() by the model of this number. -1: the pool, or FASTBIN_ERROR_CELL if unknown keys are refused. Any other
   number that no model has is FASTBIN_ERROR_ARGUMENT. On failure *value is NaN. */
FASTBIN_API fastbin_status fastbin_set_predict_one(const fastbin_set *set, int32_t model, double score, uint64_t key,
                                                   double *value);

/*
 * The same for many rows: models[i] is the number of the model for row i. Everything else is as in fastbin_predict(), whose
 * values these are; *bad_row is also the first row whose number is refused. Fastest where rows with the same number follow
 * each other.
 */
FASTBIN_API fastbin_status fastbin_set_predict_batch(const fastbin_set *set, const int32_t *models, const fastbin_rows *rows,
                                                     double *values, size_t *bad_row);

/* The same for bins, as in fastbin_assign(): 0 ... n_bins - 1 of the row's own model; -1 where the number is -1 and the set has
   a pool for unknown keys. FASTBIN_ERROR_ARGUMENT for a set with a model that is not FASTBIN_STEP. */
FASTBIN_API fastbin_status fastbin_set_assign_batch(const fastbin_set *set, const int32_t *models, const fastbin_rows *rows,
                                                    int32_t *bins, size_t *bad_row);

/*
 * The calibrated probabilities of n_rows rows of one probability for each class, by columns: values has as many entries as
 * `probabilities`, and no memory in common with it. The rows of values sum to 1 but for rounding, and no entry is 0. The values of
 * a row do not depend on other rows. The same bits on every processor, where all models are FASTBIN_STEP. FASTBIN_ERROR_ARGUMENT for
 * a set of another kind; on FASTBIN_ERROR_SCORE_NAN and FASTBIN_ERROR_SCORE_RANGE *bad_entry (may be NULL) is the first bad entry,
 * counted through all rows, and the values of its row and of later rows are not specified. Rows that do not sum to 1 are taken as
 * they are. No allocation.
 */
FASTBIN_API fastbin_status fastbin_vector_predict(const fastbin_set *set, const double *probabilities, size_t n_rows,
                                                  double *values, size_t *bad_entry);

/* ------------------------------------------------------------------------------------------------------------- */
/* Keys (FORMAT.md gives the arithmetic; it never changes)                                                       */
/* ------------------------------------------------------------------------------------------------------------- */

/*
 * All keys are below 2^64 - 1 and come from separate streams of the seed. They are statistically uniform and cost a few
 * nanoseconds; they are not secret: the seed is enough to compute them.
 */

/* Prediction: the key of row i under a seed. */
FASTBIN_API uint64_t fastbin_row_key(uint64_t seed, uint64_t row);

/*
 * Fitting: the key of the j-th sample (from 0) in the group of samples with this score. -0.0 and 0.0 are one score. Where j
 * determines the label, `seed` has to be a digest of the seed and of what was seen (FORMAT.md, "What seeds the keys of a fit").
 */
FASTBIN_API uint64_t fastbin_group_key(uint64_t seed, double score, uint64_t j);

/* The same for the n samples from j = first on: keys[i] for sample first + i. About a nanosecond each. */
FASTBIN_API void fastbin_group_keys(uint64_t seed, double score, uint64_t first, size_t n, uint64_t *keys);

/*
 * Fitting with whole ties: of `count` samples with this score, `ones` of which have label 1, `chosen` are drawn at random.
 * *f is how many of these have label 1 (a hypergeometric number, made by inversion from one uniform of 53 bits), and *y the
 * label of one of the chosen. `digest` as `seed` above: that of all boundary groups of the fit. Exact integers, the same bits
 * everywhere; the law is right up to the rounding of doubles. 0 <= ones, chosen <= count <= 2^53, else FASTBIN_ERROR_ARGUMENT
 * with *f and *y 0. O(1 + standard deviation of f) time: 10^-6 s for hundreds of samples, 10^-3 s for 10^9.
 */
FASTBIN_API fastbin_status fastbin_draw_labels(uint64_t digest, double score, int64_t count, int64_t ones, int64_t chosen,
                                               int64_t *f, int64_t *y);

/* Sample splitting: the key that decides to which part the j-th sample of a group goes. `seed` as above. */
FASTBIN_API uint64_t fastbin_split_key(uint64_t seed, double score, uint64_t j);

/*
 * Entities: the key of an id under a secret salt, so that an entity gets the same answer each time. The first 64 bits, read
 * big-endian, of HMAC-SHA-256 with the salt as its key; 2^64 - 1 becomes 2^64 - 2. By convention the bytes of an id are its
 * UTF-8 text, and those of an integer its decimal digits, so that 17 and "17" are one entity, in every language. Without
 * the salt, the key of an id cannot be computed. A pointer may be NULL where its size is 0. About a microsecond.
 */
FASTBIN_API uint64_t fastbin_hash_key(const void *salt, size_t salt_size, const void *id, size_t id_size);

/* ------------------------------------------------------------------------------------------------------------- */
/* Streams: outcomes counted as they arrive (FORMAT.md gives the bytes)                                          */
/* ------------------------------------------------------------------------------------------------------------- */

/*
 * A stream counts labelled samples in the bins of a model whose edges were fixed before: how many, how many with label 1,
 * and the running variance of Gupta, Podkopaev and Ramdas 2020, equation (20), from which their Theorem 6 gives intervals
 * that hold at every number of samples at once:
 *
 *     sum over the labels of (label - mean of the labels before it in the bin)^2,   with a mean of 1/2 before the first.
 *
 * It is added up in double precision, sample by sample, so it depends on the order in which the samples arrive, and on
 * nothing else: one call per sample, or any division into batches, gives the same bits. A stream holds at most 2^61 - 1
 * samples. More are refused: FASTBIN_ERROR_TALLY for the tally of a model, FASTBIN_ERROR_CONTENT for bytes, and
 * FASTBIN_ERROR_ARGUMENT for new samples and for another stream, so counting never overflows.
 *
 *     fastbin_stream *stream;
 *     if (fastbin_stream_create(model, &stream) != FASTBIN_OK) return 1;
 *     fastbin_stream_update_one(stream, 0.37, key_of_this_customer, outcome, NULL);
 *
 * THREADS. A stream is mutable and has no lock. One thread at a time may call a function that changes it (update_one,
 * update, merge into it, free), and no other thread may read it meanwhile. Without a writer, any number of threads may
 * read. Different streams are independent: give each thread its own, and merge.
 */
typedef struct fastbin_stream fastbin_stream;

/* A stream with zero samples over the bins of a STEP model, which is copied. O(n_steps). *stream is NULL on failure. */
FASTBIN_API fastbin_status fastbin_stream_create(const fastbin_model *model, fastbin_stream **stream);

/* The same, but going on from the tally of the model, which must have one and be unweighted, and whose r must all be 0, as it
   is otherwise conditioned on where the edges fell, and without pool or population counts (else FASTBIN_ERROR_TALLY). The
   order of its samples is not known, so the stream has no running variance. The library does not check whether the samples of
   the fit and the new ones may be counted together; UMD, UMS, CERTIFIED, CERTIFIED_FINE, FIXED_WIDTH and
   EXPLICIT allow it. */
FASTBIN_API fastbin_status fastbin_stream_continue(const fastbin_model *model, fastbin_stream **stream);

/* Free a stream. NULL is allowed. */
FASTBIN_API void fastbin_stream_free(fastbin_stream *stream);

/* Count one sample. The label is 0 or 1, else FASTBIN_ERROR_ARGUMENT. *bin (may be NULL) is the bin in which it was counted,
   or -1 on failure, when nothing is counted. The cost of fastbin_assign_one() and a division; no allocation. */
FASTBIN_API fastbin_status fastbin_stream_update_one(fastbin_stream *stream, double score, uint64_t key, int label,
                                                     int32_t *bin);

/* Count many samples, in order: all of them, or none if one cannot be counted. labels[i] (0 or 1) belongs to row i; bins[i]
   receives the bin in which it was counted (there must be room for n_rows); nan_policy must be FASTBIN_NAN_ERROR. On a bad
   score, or a label that is neither (FASTBIN_ERROR_ARGUMENT), *bad_row (may be NULL) is the first row with one. Rows without
   keys have fastbin_row_key(seed, first_row + i) as everywhere; for keys that do not depend on the batches, set first_row to
   fastbin_stream_n_samples(). The cost of fastbin_assign() and a division for each row; no allocation. */
FASTBIN_API fastbin_status fastbin_stream_update(fastbin_stream *stream, const fastbin_rows *rows, const uint8_t *labels,
                                                 int32_t *bins, size_t *bad_row);

/* The model that defines the bins, as it was given. Owned by the stream; lives until the next merge. */
FASTBIN_API const fastbin_model *fastbin_stream_partition(const fastbin_stream *stream);

/* The samples counted so far; those of the model's fit are among them if the stream goes on from its tally. */
FASTBIN_API int64_t fastbin_stream_n_samples(const fastbin_stream *stream);

/* Whether the running variance is known: 1 unless the stream went on from a tally, or was merged. */
FASTBIN_API int fastbin_stream_has_variance(const fastbin_stream *stream);

/* Copy what was counted into arrays of n_bins; any may be NULL. FASTBIN_ERROR_ARGUMENT for running_variances that are not
   known. The running variance is not clipped; Theorem 6 takes the larger of it and 1. */
FASTBIN_API fastbin_status fastbin_stream_tally(const fastbin_stream *stream, int64_t *counts, int64_t *label_sums,
                                                double *running_variances);

/* A model of what was counted so far: the bins of the partition, the mean label of each as its value (0.5 where nothing was
   counted), and the tally, in one resolution. Its scheme is FASTBIN_SCHEME_EXPLICIT, as its edges were fixed before its
   samples were seen; its ties are RANDOM or NONE by its edge keys (those of the partition, if the stream went on from its tally,
   unless UPPER or LOWER of a split fit, whose edges come from other samples). It has the event and the note of the partition,
   and no provenance, which tells how other samples were fitted. Free it. */
FASTBIN_API fastbin_status fastbin_stream_snapshot(const fastbin_stream *stream, fastbin_model **model);

/* Add what `other` has counted to `stream`. Their bins (edges, edge keys and score ranges) must be equal, as well as their
   events where both have one, and at most one of them may have gone on from the tally of its model; otherwise
   FASTBIN_ERROR_ARGUMENT, and nothing is changed. `stream` then has the event, and the tally, that one of them had. The running
   variance is unknown, unless one of the two was empty: it depends on the order of all samples. O(n_steps). */
FASTBIN_API fastbin_status fastbin_stream_merge(fastbin_stream *stream, const fastbin_stream *other);

/* A stream as bytes, to go on later or elsewhere, bit for bit; as fastbin_model_size(), _write() and _read(). */
FASTBIN_API size_t fastbin_stream_size(const fastbin_stream *stream);
FASTBIN_API fastbin_status fastbin_stream_write(const fastbin_stream *stream, void *buffer, size_t capacity);
FASTBIN_API fastbin_status fastbin_stream_read(const void *bytes, size_t size, fastbin_stream **stream);

/* ------------------------------------------------------------------------------------------------------------- */
/* Monitors: the state of a test of calibration (FORMAT.md gives the bytes)                                      */
/* ------------------------------------------------------------------------------------------------------------- */

/*
 * A monitor tests, outcome by outcome, whether the true rates of a model's bins lie in tolerated intervals; the Python
 * package computes its evidence. The library writes the state and reads it back, and refuses an
 * impossible one. Evidence is the natural logarithm of an e-value.
 */
#define FASTBIN_DIGEST_SIZE 32

typedef struct fastbin_monitor_spec {
  size_t struct_size;            /* sizeof(fastbin_monitor_spec) */
  const fastbin_stream *stream;  /* the outcomes counted, from zero on, over the n_bins bins of the monitored model */
  double alpha;                  /* the chance of ever raising a false alarm, in (0, 1) */
  double interval_alpha;         /* the level of the tolerated intervals of the model; 0: its values are tolerated */
  const double *tolerated;       /* for each bin, the lower and the upper end of the tolerated interval, in [0, 1]: 2 n_bins */
  double max_log_mean;           /* the largest evidence so far of all bins together, at least 0; may be INFINITY */
  int64_t alarm_at;              /* the outcome, from 1, at which it first reached -log(alpha); 0: it did not */
  const double *max_log_e;       /* the same of each bin */
  const int64_t *named_at;       /* the outcome at which it first reached log(n_bins / alpha); 0: it did not */
  const unsigned char *seen;     /* SHA-256 digests of the files that were counted, FASTBIN_DIGEST_SIZE bytes each */
  size_t n_seen;
  /* The rest, in which a state of an earlier version has nothing, goes together: half of the evidence is pooled over bins. */
  const double *grid;            /* pairs of a slope and a shift of the log odds of what is served: 2 n_pairs, finite */
  size_t n_pairs;
  const int64_t *class_bins;     /* the bins that are pooled together: the first class_bins[0], and so on, n_bins in all */
  size_t n_classes;              /* 1, or the classes of a class-wise set, in each of which every outcome is counted once */
  const int64_t *start_at;       /* outcomes before each later start of the evidence, from 1 on, ascending: n_starts */
  const double *start_weights;   /* the share of each in the evidence, above 0; together at most 1/2 */
  const int64_t *start_counts;   /* n_starts times n_bins: what had been counted before the start */
  const int64_t *start_ones;     /* and of these outcomes, outcomes 1 */
  size_t n_starts;
} fastbin_monitor_spec;

typedef struct fastbin_monitor fastbin_monitor;

/* The number of bytes that fastbin_monitor_write() will write; 0 for a spec that it refuses. */
FASTBIN_API size_t fastbin_monitor_size(const fastbin_monitor_spec *spec);

/* Write a state; FASTBIN_ERROR_CONTENT, with nothing written, if no sequence of samples leads to it. */
FASTBIN_API fastbin_status fastbin_monitor_write(const fastbin_monitor_spec *spec, void *buffer, size_t capacity);

/* Read a state, as fastbin_model_read() does a model. O(size). *monitor is NULL on failure. */
FASTBIN_API fastbin_status fastbin_monitor_read(const void *bytes, size_t size, fastbin_monitor **monitor);

/* Show a state that was read, with pointers into it that live as long as it does. Set spec->struct_size first. */
FASTBIN_API fastbin_status fastbin_monitor_describe(const fastbin_monitor *monitor, fastbin_monitor_spec *spec);

/* Free a monitor. NULL is allowed. */
FASTBIN_API void fastbin_monitor_free(fastbin_monitor *monitor);

#ifdef __cplusplus
}
#endif

#endif /* FASTBIN_H */
