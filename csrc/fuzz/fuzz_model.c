/*
 * fuzz_model.c: hostile bytes for a model. What is read must be refused, or be a model that works.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#include "use.h"

static int use(const uint8_t *bytes, size_t size) {
  fastbin_model *model;
  uint64_t number = digest_of(bytes, size);
  fastbin_status status;
  choose_build(number);
  status = fastbin_model_read(bytes, size, &model);
  require((status == FASTBIN_OK) == (model != NULL), "status and model contradict each other");
  require(fastbin_status_string(status)[0] != '\0', "a status has no text");
  if (status != FASTBIN_OK) return 0;
  use_model(model, bytes, size, number);
  fastbin_model_free(model);
  return 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) { return use_mended(data, size, use); }
