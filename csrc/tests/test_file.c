/*
 * test_file.c: models in files. Works in the folder named by its argument, or the current one.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#define _POSIX_C_SOURCE 200809L
#include "models.h"
#include "specs.h"

#if !defined(_WIN32)
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

static char folder[4096];

static const char *in_folder(const char *name) {
  static char path[8192];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

/* n_bins of the model in a file, or minus the status. */
static int loaded(const char *name) {
  fastbin_model *model = (fastbin_model *)(void *)&n_passed;
  fastbin_model_spec spec;
  fastbin_status status = fastbin_model_load(in_folder(name), &model);
  CHECK((status == FASTBIN_OK) == (model != NULL));
  if (status != FASTBIN_OK) return -(int)status;
  spec.struct_size = sizeof spec;
  fastbin_model_describe(model, &spec);
  fastbin_model_free(model);
  return spec.n_bins;
}

static void write_file(const char *name, const void *bytes, size_t size) {
  FILE *file = fopen(in_folder(name), "wb");
  REQUIRE(file != NULL);
  REQUIRE(fwrite(bytes, 1, size, file) == size);
  REQUIRE(fclose(file) == 0);
}

static void test_save_and_load(void) {
  fastbin_model_spec full = full_spec(), half = half_spec();
  fastbin_model *model = must_create(&full), *other = must_create(&half);
  remove(in_folder("model.fbm"));
  CHECK(loaded("model.fbm") == -FASTBIN_ERROR_OPEN);
  CHECK(fastbin_model_save(model, in_folder("model.fbm")) == FASTBIN_OK);
  CHECK(loaded("model.fbm") == 4);
  CHECK(fastbin_model_save(other, in_folder("model.fbm")) == FASTBIN_OK);
  CHECK(loaded("model.fbm") == 2);
  CHECK(fastbin_model_save(model, in_folder("no-such-folder/model.fbm")) == FASTBIN_ERROR_OPEN);
  CHECK(fastbin_model_save(model, "") == FASTBIN_ERROR_ARGUMENT);
  CHECK(fastbin_model_save(model, NULL) == FASTBIN_ERROR_ARGUMENT);
  CHECK(fastbin_model_save(NULL, in_folder("model.fbm")) == FASTBIN_ERROR_ARGUMENT);
  fastbin_model_free(model);
  CHECK(fastbin_model_load(NULL, &model) == FASTBIN_ERROR_ARGUMENT && model == NULL);
  CHECK(fastbin_model_load(in_folder("model.fbm"), NULL) == FASTBIN_ERROR_ARGUMENT);
  fastbin_model_free(other);
}

/* More than one read of the loader, and a note of odd length. */
static void test_large_model(void) {
  enum { N_BINS = 50001 };
  double *edges = must_malloc(N_BINS * sizeof *edges);
  fastbin_model_spec spec = empty_spec(FASTBIN_STEP), seen;
  fastbin_model *model, *again;
  for (int i = 0; i < N_BINS; i++) edges[i] = (double)i / N_BINS;
  spec.n_bins = N_BINS;
  spec.edges = edges;
  spec.values = edges;
  spec.note = (const char *)edges;
  spec.note_size = 12345;
  model = must_create(&spec);
  CHECK(fastbin_model_save(model, in_folder("large.fbm")) == FASTBIN_OK);
  REQUIRE(fastbin_model_load(in_folder("large.fbm"), &again) == FASTBIN_OK);
  seen.struct_size = sizeof seen;
  fastbin_model_describe(again, &seen);
  CHECK(memcmp(seen.edges, edges, (N_BINS - 1) * sizeof *edges) == 0);
  CHECK(seen.note_size == 12345 && memcmp(seen.note, edges, 12345) == 0);
  fastbin_model_free(model);
  fastbin_model_free(again);
  free(edges);
  remove(in_folder("large.fbm"));
}

static void test_damaged_files(void) {
  fastbin_model_spec spec = full_spec();
  fastbin_model *model = must_create(&spec);
  size_t size = fastbin_model_size(model);
  unsigned char *bytes = must_malloc(200000);
  memset(bytes, 0, 200000);
  REQUIRE(fastbin_model_write(model, bytes, size) == FASTBIN_OK);
  fastbin_model_free(model);
  write_file("damaged.fbm", bytes, size);
  CHECK(loaded("damaged.fbm") == 4);
  write_file("damaged.fbm", bytes, 0);
  CHECK(loaded("damaged.fbm") == -FASTBIN_ERROR_LENGTH);
  write_file("damaged.fbm", bytes, size - 1);
  CHECK(loaded("damaged.fbm") == -FASTBIN_ERROR_LENGTH);
  write_file("damaged.fbm", bytes, size + 1);
  CHECK(loaded("damaged.fbm") == -FASTBIN_ERROR_LENGTH);
  write_file("damaged.fbm", bytes, 200000); /* given up after the first read */
  CHECK(loaded("damaged.fbm") == -FASTBIN_ERROR_LENGTH);
  memset(bytes + 16, 0xFF, 7); /* says that it is endless */
  bytes[16] = 0xF8;
  write_file("damaged.fbm", bytes, 200000);
  CHECK(loaded("damaged.fbm") == -FASTBIN_ERROR_LENGTH);
  bytes[0] = 0;
  write_file("damaged.fbm", bytes, 200000);
  CHECK(loaded("damaged.fbm") == -FASTBIN_ERROR_MAGIC);
  remove(in_folder("damaged.fbm"));
  free(bytes);
}

#if !defined(_WIN32)

static int files_left(const char *name) {
  DIR *directory = opendir(in_folder(name));
  int n = 0;
  if (!directory) return -1;
  while (readdir(directory)) n++;
  closedir(directory);
  return n - 2; /* . and .. */
}

/* What stands in the way of a save, the old file survives, and nothing is left lying about. */
static void test_failures_leave_the_old_file(void) {
  fastbin_model_spec full = full_spec(), half = half_spec();
  fastbin_model *model = must_create(&full), *other = must_create(&half);
  struct rlimit limit, tiny;
  mkdir(in_folder("full"), 0700);
  CHECK(fastbin_model_save(model, in_folder("full/model.fbm")) == FASTBIN_OK);
  /* A disk that is full after 100 bytes. */
  signal(SIGXFSZ, SIG_IGN);
  REQUIRE(getrlimit(RLIMIT_FSIZE, &limit) == 0);
  tiny = limit;
  tiny.rlim_cur = 100;
  REQUIRE(setrlimit(RLIMIT_FSIZE, &tiny) == 0);
  CHECK(fastbin_model_save(other, in_folder("full/model.fbm")) == FASTBIN_ERROR_WRITE);
  REQUIRE(setrlimit(RLIMIT_FSIZE, &limit) == 0);
  CHECK(loaded("full/model.fbm") == 4);
  CHECK(files_left("full") == 1);
  /* A folder in the place of the file. */
  mkdir(in_folder("full/folder.fbm"), 0700);
  CHECK(fastbin_model_save(other, in_folder("full/folder.fbm")) == FASTBIN_ERROR_OPEN);
  CHECK(files_left("full") == 2);
  CHECK(loaded("full/folder.fbm") == -FASTBIN_ERROR_READ);
  rmdir(in_folder("full/folder.fbm"));
  remove(in_folder("full/model.fbm"));
  rmdir(in_folder("full"));
  fastbin_model_free(model);
  fastbin_model_free(other);
}

/* A name that the system takes is taken, though the temporary one is longer; characters of two bytes are not cut. */
static void test_long_names(void) {
  fastbin_model_spec full = full_spec();
  fastbin_model *model = must_create(&full);
  char name[512];
  mkdir(in_folder("long"), 0700);
  for (int length = 195; length <= 255; length += 10) {
    for (int wide = 0; wide <= 1; wide++) {
      memcpy(name, "long/", 5);
      for (int i = 0; i < length; i++) name[5 + i] = wide && i < length - 1 ? (i % 2 ? '\xa9' : '\xc3') : 'x';
      name[5 + length] = 0;
      CHECK(fastbin_model_save(model, in_folder(name)) == FASTBIN_OK);
      CHECK(fastbin_model_save(model, in_folder(name)) == FASTBIN_OK);
      CHECK(loaded(name) == 4);
      CHECK(files_left("long") == 1);
      remove(in_folder(name));
    }
  }
  rmdir(in_folder("long"));
  fastbin_model_free(model);
}

/* Where that is permitted, which it is to root: one of the two may be another alone. */
static void test_owner_and_group_are_kept(void) {
  static const unsigned owners[][2] = {{1234, 0}, {0, 5678}, {1234, 5678}};
  fastbin_model_spec full = full_spec();
  fastbin_model *model = must_create(&full);
  struct stat status;
  for (size_t i = 0; i < sizeof owners / sizeof owners[0] && geteuid() == 0; i++) {
    CHECK(fastbin_model_save(model, in_folder("owned.fbm")) == FASTBIN_OK);
    REQUIRE(chown(in_folder("owned.fbm"), owners[i][0], owners[i][1]) == 0);
    CHECK(fastbin_model_save(model, in_folder("owned.fbm")) == FASTBIN_OK);
    REQUIRE(stat(in_folder("owned.fbm"), &status) == 0);
    CHECK(status.st_uid == owners[i][0] && status.st_gid == owners[i][1]);
    remove(in_folder("owned.fbm"));
  }
  fastbin_model_free(model);
}

/* Links are followed, modes are kept, and a file of another kind is written through. */
static void test_what_stands_at_the_path(void) {
  fastbin_model_spec full = full_spec(), half = half_spec();
  fastbin_model *model = must_create(&full), *other = must_create(&half);
  struct stat status;
  char target[8192];
  snprintf(target, sizeof target, "%s", in_folder("target.fbm"));
  remove(in_folder("link.fbm"));
  remove(target);
  REQUIRE(symlink("target.fbm", in_folder("link.fbm")) == 0);
  CHECK(fastbin_model_save(model, in_folder("link.fbm")) == FASTBIN_OK); /* makes the file behind the link */
  CHECK(loaded("target.fbm") == 4);
  REQUIRE(chmod(target, 0600) == 0);
  CHECK(fastbin_model_save(other, in_folder("link.fbm")) == FASTBIN_OK); /* replaces it */
  CHECK(loaded("target.fbm") == 2);
  CHECK(lstat(in_folder("link.fbm"), &status) == 0 && S_ISLNK(status.st_mode));
  CHECK(stat(target, &status) == 0 && (status.st_mode & 07777) == 0600);
  CHECK(fastbin_model_save(model, "/dev/null") == FASTBIN_OK);
  CHECK(stat("/dev/null", &status) == 0 && S_ISCHR(status.st_mode));
  remove(in_folder("link.fbm"));
  remove(target);
  fastbin_model_free(model);
  fastbin_model_free(other);
}

/* A named pipe stays one, and its reader gets the whole model. */
static void test_pipes(void) {
  fastbin_model_spec full = full_spec();
  fastbin_model *model = must_create(&full), *again = NULL;
  unsigned char bytes[4096];
  struct stat status;
  ssize_t size;
  int reader;
  mkdir(in_folder("pipes"), 0700);
  REQUIRE(mkfifo(in_folder("pipes/model.fbm"), 0600) == 0);
  reader = open(in_folder("pipes/model.fbm"), O_RDONLY | O_NONBLOCK);
  REQUIRE(reader >= 0);
  CHECK(fastbin_model_save(model, in_folder("pipes/model.fbm")) == FASTBIN_OK);
  size = read(reader, bytes, sizeof bytes);
  CHECK(size == (ssize_t)fastbin_model_size(model));
  CHECK(size > 0 && fastbin_model_read(bytes, (size_t)size, &again) == FASTBIN_OK);
  CHECK(lstat(in_folder("pipes/model.fbm"), &status) == 0 && S_ISFIFO(status.st_mode));
  CHECK(files_left("pipes") == 1);
  close(reader);
  remove(in_folder("pipes/model.fbm"));
  rmdir(in_folder("pipes"));
  fastbin_model_free(model);
  fastbin_model_free(again);
}

#endif

int main(int argc, char **argv) {
  snprintf(folder, sizeof folder, "%s", argc > 1 ? argv[1] : ".");
  test_save_and_load();
  test_large_model();
  test_damaged_files();
#if !defined(_WIN32)
  test_failures_leave_the_old_file();
  test_long_names();
  test_owner_and_group_are_kept();
  test_what_stands_at_the_path();
  test_pipes();
#endif
  remove(in_folder("model.fbm"));
  return finish();
}
