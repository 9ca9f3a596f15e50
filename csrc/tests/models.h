/*
 * models.h: models made from specs, or refused.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef FASTBIN_TESTS_MODELS_H
#define FASTBIN_TESTS_MODELS_H

#include "check.h"
#include "fastbin.h"

static inline fastbin_model *must_create(const fastbin_model_spec *spec) {
  fastbin_model *model;
  REQUIRE(fastbin_model_create(spec, &model) == FASTBIN_OK);
  return model;
}

static inline fastbin_model_spec describe(const fastbin_model *model) {
  fastbin_model_spec spec;
  spec.struct_size = sizeof spec;
  REQUIRE(fastbin_model_describe(model, &spec) == FASTBIN_OK);
  return spec;
}

/* What creating answers. */
static inline fastbin_status create(const fastbin_model_spec *spec) {
  fastbin_model *model = (fastbin_model *)(void *)&n_passed; /* not NULL, to see that it becomes so */
  fastbin_status status = fastbin_model_create(spec, &model);
  CHECK((status == FASTBIN_OK) == (model != NULL));
  fastbin_model_free(model);
  return status;
}

/* A spec that makes a model, until one of its members is assigned something. */
#define REFUSES(spec_maker, assignment, expected)      \
  do {                                                 \
    fastbin_model_spec spec = spec_maker;              \
    CHECK(create(&spec) == FASTBIN_OK);                \
    spec.assignment;                                   \
    CHECK(create(&spec) == expected);                  \
  } while (0)

#endif /* FASTBIN_TESTS_MODELS_H */
