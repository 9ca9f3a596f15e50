/*
 * replay.c: hands files to a fuzz target, or standard input, where there is no libFuzzer. AFL takes this form, too.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#include "fuzz.h"

static void replay(FILE *file, const char *name) {
  static uint8_t bytes[1 << 20];
  size_t size;
  if (!file) {
    perror(name);
    exit(2);
  }
  size = fread(bytes, 1, sizeof bytes, file);
  LLVMFuzzerTestOneInput(bytes, size);
}

int main(int argc, char **argv) {
  if (argc == 1) replay(stdin, "standard input");
  for (int i = 1; i < argc; i++) {
    FILE *file = fopen(argv[i], "rb");
    replay(file, argv[i]);
    fclose(file);
  }
  printf("%s: %d inputs, no finding\n", argv[0], argc > 1 ? argc - 1 : 1);
  return 0;
}
