/* Loads the model that make_model writes and scores with it: consumer MODEL.fbm. Prints "ok". */
#include <fastbin.h>

#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
  fastbin_model *model;
  fastbin_status status;
  double value;
  if (argc != 2) return 2;
  if (strcmp(fastbin_version(), FASTBIN_VERSION_STRING) != 0) return 3;
  status = fastbin_model_load(argv[1], &model);
  if (status != FASTBIN_OK) {
    fprintf(stderr, "%s: %s\n", argv[1], fastbin_status_string(status));
    return 1;
  }
  status = fastbin_predict_one(model, 0.3, 0, &value);
  fastbin_model_free(model);
  if (status != FASTBIN_OK || value != 0.5) return 4;
  puts("ok");
  return 0;
}
