/*
 * file.c: models and sets in files.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#if !defined(_WIN32)
#define _POSIX_C_SOURCE 200809L
#define _XOPEN_SOURCE 700
#endif
#include "internal.h"

#include "set.h"

#include <stdio.h>
#include <stdlib.h>

#if defined(_WIN32)
#include <windows.h>
#else
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

/* The first read, and the least by which the buffer grows. Most models fit. */
#define FIRST_READ ((size_t)1 << 16)

/* How many names of left-over temporary files are skipped before saving fails. */
#define MAX_TEMPORARY_NAMES 64

/* ".0123456789abcdef.tmp" */
#define TEMPORARY_SUFFIX_SIZE 22

/* Bytes of the target's name in that of a temporary file: a name may have 255. */
#define MOST_OF_NAME 200

/* ------------------------------------------------------------------------------------------------------------- */
/* Differences between systems                                                                                   */
/* ------------------------------------------------------------------------------------------------------------- */

/* What is at a path before it is written to. */
typedef struct target {
  char *path;           /* the file itself, with all links resolved; from malloc() */
  int is_written_to;    /* not a regular file: a device or a pipe is not replaced */
  int is_replaced;      /* a regular file, whose mode and owner are kept */
#if !defined(_WIN32)
  struct stat status;
#endif
} target;

static char *copy_of(const char *text) {
  size_t size = strlen(text) + 1;
  char *copy = malloc(size);
  return copy ? memcpy(copy, text, size) : NULL;
}

#if defined(_WIN32)

static target target_of(const char *path) {
  target found = {copy_of(path), 0, 0};
  return found;
}

static FILE *open_new(const char *name, const target *old) {
  (void)old;
  return fopen(name, "wbx");
}

static int keep_attributes(FILE *file, const target *old) {
  (void)file;
  (void)old;
  return 1;
}

static int flush_to_disk(FILE *file) { return fflush(file) == 0; }

/* rename() refuses an existing target on Windows. */
static int replace_file(const char *from, const char *to) {
  return MoveFileExA(from, to, MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH) != 0;
}

#else

/* Writing through a link without a target creates its target. */
static target target_of(const char *path) {
  target found;
  struct stat link;
  memset(&found, 0, sizeof found);
  if (stat(path, &found.status) == 0) {
    found.is_replaced = S_ISREG(found.status.st_mode);
    found.is_written_to = !found.is_replaced;
    found.path = found.is_replaced ? realpath(path, NULL) : copy_of(path);
  } else {
    found.is_written_to = lstat(path, &link) == 0;
    found.path = copy_of(path);
  }
  return found;
}

/* The new file is not accessible to others until it has the rights of the old one. */
static FILE *open_new(const char *name, const target *old) {
  int descriptor = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, old->is_replaced ? 0600 : 0666);
  FILE *file = descriptor >= 0 ? fdopen(descriptor, "wb") : NULL;
  if (descriptor >= 0 && !file) {
    close(descriptor);
    remove(name);
  }
  return file;
}

/* The owner first, as changing it clears bits of the mode. Only root can set another owner; otherwise the owner changes. */
static int keep_attributes(FILE *file, const target *old) {
  struct stat now;
  if (!old->is_replaced) return 1;
  if (fstat(fileno(file), &now) != 0) return 0;
  if (now.st_uid != old->status.st_uid || now.st_gid != old->status.st_gid) {
    int given = fchown(fileno(file), old->status.st_uid, old->status.st_gid);
    (void)given;
  }
  return fchmod(fileno(file), old->status.st_mode & 07777) == 0;
}

static int flush_to_disk(FILE *file) { return fflush(file) == 0 && fsync(fileno(file)) == 0; }

static int replace_file(const char *from, const char *to) { return rename(from, to) == 0; }

#endif

/* ------------------------------------------------------------------------------------------------------------- */
/* Saving                                                                                                        */
/* ------------------------------------------------------------------------------------------------------------- */

/* The length of the path up to where the suffix goes: behind its name, or behind a whole character in the middle of a long one. */
static size_t length_of_stem(const char *path) {
  size_t length = strlen(path), name = length;
#if defined(_WIN32)
  while (name > 0 && path[name - 1] != '/' && path[name - 1] != '\\') name--;
#else
  while (name > 0 && path[name - 1] != '/') name--;
#endif
  if (length - name <= MOST_OF_NAME) return length;
  length = name + MOST_OF_NAME;
  while (((unsigned char)path[length] & 0xC0) == 0x80 && length > name) length--;
  return length;
}

/*
 * Opens a file beside the old one that did not exist before. The name starts from a hash of the model and of an address, which
 * separates threads and processes that save to one path at once; if the name exists, the next one is tried.
 */
static FILE *open_temporary(const target *old, uint64_t start, char *name) {
  size_t length = length_of_stem(old->path);
  memcpy(name, old->path, length);
  for (uint64_t i = 0; i < MAX_TEMPORARY_NAMES; i++) {
    FILE *file;
    snprintf(name + length, TEMPORARY_SUFFIX_SIZE, ".%016llx.tmp", (unsigned long long)mix(start + i));
    file = open_new(name, old);
    if (file) return file;
  }
  return NULL;
}

/* A full disk shows here at the latest, in the flush of fclose(). */
static int write_and_close(FILE *file, const void *bytes, size_t size, const target *old) {
  int written = fwrite(bytes, 1, size, file) == size;
  if (old) written = written && keep_attributes(file, old) && flush_to_disk(file);
  return (fclose(file) == 0) && written;
}

static fastbin_status write_through(const void *bytes, size_t size, const char *path) {
  FILE *file = fopen(path, "wb");
  if (!file) return FASTBIN_ERROR_OPEN;
  return write_and_close(file, bytes, size, NULL) ? FASTBIN_OK : FASTBIN_ERROR_WRITE;
}

static fastbin_status replace_whole(const void *bytes, size_t size, const target *old) {
  size_t name_size = strlen(old->path);
  FILE *file;
  char *name;
  fastbin_status status = FASTBIN_OK;
  if (!add_size(&name_size, TEMPORARY_SUFFIX_SIZE, 1)) return FASTBIN_ERROR_MEMORY;
  name = malloc(name_size);
  if (!name) return FASTBIN_ERROR_MEMORY;
  file = open_temporary(old, (uint64_t)(uintptr_t)bytes, name);
  if (!file) {
    status = FASTBIN_ERROR_OPEN;
  } else if (!write_and_close(file, bytes, size, old) || !replace_file(name, old->path)) {
    remove(name);
    status = FASTBIN_ERROR_WRITE;
  }
  free(name);
  return status;
}

static fastbin_status save_bytes(const void *bytes, size_t size, const char *path) {
  target found = target_of(path);
  fastbin_status status = FASTBIN_ERROR_MEMORY;
  if (found.path) status = found.is_written_to ? write_through(bytes, size, path) : replace_whole(bytes, size, &found);
  free(found.path);
  return status;
}

typedef fastbin_status write_function(const void *content, void *buffer, size_t capacity);

static fastbin_status save(const void *content, size_t size, write_function *write, const char *path) {
  void *bytes = malloc(size);
  fastbin_status status;
  if (!bytes) return FASTBIN_ERROR_MEMORY;
  status = write(content, bytes, size);
  if (status == FASTBIN_OK) status = save_bytes(bytes, size, path);
  free(bytes);
  return status;
}

static fastbin_status write_model(const void *model, void *buffer, size_t capacity) {
  return fastbin_model_write(model, buffer, capacity);
}

static fastbin_status write_set(const void *set, void *buffer, size_t capacity) {
  return fastbin_set_write(set, buffer, capacity);
}

fastbin_status fastbin_model_save(const fastbin_model *model, const char *path) {
  return model && path && *path ? save(model, fastbin_model_size(model), write_model, path) : FASTBIN_ERROR_ARGUMENT;
}

fastbin_status fastbin_set_save(const fastbin_set *set, const char *path) {
  return set && path && *path ? save(set, fastbin_set_size(set), write_set, path) : FASTBIN_ERROR_ARGUMENT;
}

/* Whether these first bytes can be the start of a file of this kind that is at least so long. */
typedef fastbin_status check_function(const unsigned char *bytes, size_t size);

/*
 * Reads to the end of the file, but never more than its own header says it has, plus the one byte that shows that there
 * is more. The buffer grows with what was really read, so a false length in a header costs no memory.
 */
static fastbin_status read_file(FILE *file, check_function *check_start, unsigned char **bytes, size_t *size) {
  size_t capacity = 0;
  *bytes = NULL;
  *size = 0;
  for (;;) {
    size_t got;
    if (*size == capacity) {
      unsigned char *larger;
      if (*size > 0) {
        fastbin_status status = check_start(*bytes, *size);
        if (status != FASTBIN_OK) return status;
      }
      if (capacity > SIZE_MAX / 2) return FASTBIN_ERROR_MEMORY;
      capacity = capacity == 0 ? FIRST_READ : 2 * capacity;
      larger = realloc(*bytes, capacity);
      if (!larger) return FASTBIN_ERROR_MEMORY;
      *bytes = larger;
    }
    got = fread(*bytes + *size, 1, capacity - *size, file);
    *size += got;
    if (got == 0) return ferror(file) ? FASTBIN_ERROR_READ : FASTBIN_OK;
  }
}

/* The bytes of a whole file, to be freed also on failure. */
static fastbin_status load_bytes(const char *path, check_function *check_start, unsigned char **bytes, size_t *size) {
  fastbin_status status;
  FILE *file;
  *bytes = NULL;
  if (!path) return FASTBIN_ERROR_ARGUMENT;
  file = fopen(path, "rb");
  if (!file) return FASTBIN_ERROR_OPEN;
  status = read_file(file, check_start, bytes, size);
  fclose(file);
  return status;
}

fastbin_status fastbin_model_load(const char *path, fastbin_model **model) {
  unsigned char *bytes;
  size_t size;
  fastbin_status status;
  if (!model) return FASTBIN_ERROR_ARGUMENT;
  *model = NULL;
  status = load_bytes(path, fastbin_check_model_start, &bytes, &size);
  if (status == FASTBIN_OK) status = fastbin_model_read(bytes, size, model);
  free(bytes);
  return status;
}

fastbin_status fastbin_set_load(const char *path, fastbin_set **set) {
  unsigned char *bytes;
  size_t size;
  fastbin_status status;
  if (!set) return FASTBIN_ERROR_ARGUMENT;
  *set = NULL;
  status = load_bytes(path, fastbin_check_set_start, &bytes, &size);
  if (status == FASTBIN_OK) status = fastbin_set_read(bytes, size, set);
  free(bytes);
  return status;
}
