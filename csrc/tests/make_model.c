/*
 * make_model.c: writes the model that test_example.sh and the consumers score with: make_model FILE.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#include "specs.h"

#include <stdio.h>

int main(int argc, char **argv) {
  fastbin_model_spec spec = full_spec();
  fastbin_model *model;
  fastbin_status status = fastbin_model_create(&spec, &model);
  if (argc != 2) return 2;
  if (status == FASTBIN_OK) status = fastbin_model_save(model, argv[1]);
  if (status != FASTBIN_OK) fprintf(stderr, "make_model: %s: %s\n", argv[1], fastbin_status_string(status));
  fastbin_model_free(model);
  return status == FASTBIN_OK ? 0 : 1;
}
