/*
 * faults.c: the n-th call of a function of the C library fails: an object to preload, which the tests arm.
 *
 *     cc -shared -fPIC tests/faults.c -o faults.so -ldl && LD_PRELOAD=./faults.so PROGRAM
 *
 * The program finds faults_arm() and faults_disarm() by dlsym() or ctypes. Functions that the program does not call by their
 * names, as the write() inside of fwrite(), cannot be caught. Memory that is taken and not given back while armed is counted.
 * For glibc; not part of the library.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void __libc_free(void *memory);

/* One thread at a time is armed, which keeps other threads of an interpreter out of it. */
static __thread int is_armed;
static const char *armed_kind;
static long calls_left;
static int has_fired;
static long n_live;

void faults_arm(const char *kind, long at);
int faults_disarm(long *not_given_back);

/* From now on the `at`-th call (from 1) of a function of this kind fails, once. */
void faults_arm(const char *kind, long at) {
  armed_kind = kind;
  calls_left = at;
  has_fired = 0;
  n_live = 0;
  is_armed = 1;
}

/* Whether the call was reached. */
int faults_disarm(long *not_given_back) {
  is_armed = 0;
  if (not_given_back) *not_given_back = n_live;
  return has_fired;
}

static int fails(const char *kind, int error) {
  if (!is_armed || strcmp(kind, armed_kind) != 0 || --calls_left != 0) return 0;
  has_fired = 1;
  errno = error;
  return 1;
}

/* The function of the C library, as `real`. ISO C has no cast from a pointer to data to one to a function. */
#define REAL(name)                           \
  static __typeof__(name) *real;             \
  if (!real) {                               \
    void *found = dlsym(RTLD_NEXT, #name);   \
    memcpy(&real, &found, sizeof real);      \
  }

void *malloc(size_t size) {
  void *memory = fails("malloc", ENOMEM) ? NULL : __libc_malloc(size);
  if (is_armed && memory) n_live++;
  return memory;
}

void *calloc(size_t count, size_t size) {
  void *memory = fails("malloc", ENOMEM) ? NULL : __libc_calloc(count, size);
  if (is_armed && memory) n_live++;
  return memory;
}

void *realloc(void *memory, size_t size) {
  void *moved = fails("malloc", ENOMEM) ? NULL : __libc_realloc(memory, size);
  if (is_armed && moved && !memory) n_live++;
  return moved;
}

void free(void *memory) {
  if (is_armed && memory) n_live--;
  __libc_free(memory);
}

FILE *fopen(const char *path, const char *mode) {
  REAL(fopen)
  return fails("open", EMFILE) ? NULL : real(path, mode);
}

FILE *fopen64(const char *path, const char *mode) {
  REAL(fopen64)
  return fails("open", EMFILE) ? NULL : real(path, mode);
}

size_t fread(void *to, size_t size, size_t count, FILE *file) {
  REAL(fread)
  if (!fails("read", EIO)) return real(to, size, count, file);
  file->_flags |= 0x20; /* what ferror() looks at */
  return 0;
}

size_t fwrite(const void *from, size_t size, size_t count, FILE *file) {
  REAL(fwrite)
  return fails("write", ENOSPC) ? real(from, size, count / 2, file) : real(from, size, count, file);
}

int fclose(FILE *file) {
  REAL(fclose)
  int failed = fails("close", ENOSPC), result = real(file);
  return failed ? EOF : result;
}

int fflush(FILE *file) {
  REAL(fflush)
  return fails("write", ENOSPC) ? EOF : real(file);
}

/* The mode, which is there where a file may be made. */
#define MODE                                                    \
  va_list rest;                                                 \
  mode_t mode;                                                  \
  va_start(rest, flags);                                        \
  mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0; \
  va_end(rest);

int open(const char *path, int flags, ...) {
  REAL(open)
  MODE
  return fails("open", EMFILE) ? -1 : real(path, flags, mode);
}

int open64(const char *path, int flags, ...) {
  REAL(open64)
  MODE
  return fails("open", EMFILE) ? -1 : real(path, flags, mode);
}

int openat(int at, const char *path, int flags, ...) {
  REAL(openat)
  MODE
  return fails("open", EMFILE) ? -1 : real(at, path, flags, mode);
}

ssize_t read(int file, void *to, size_t size) {
  REAL(read)
  return fails("read", EIO) ? -1 : real(file, to, size);
}

ssize_t write(int file, const void *from, size_t size) {
  REAL(write)
  return fails("write", ENOSPC) ? -1 : real(file, from, size);
}

int close(int file) {
  REAL(close)
  int failed = fails("close", EIO), result = real(file);
  return failed ? -1 : result;
}

int fsync(int file) {
  REAL(fsync)
  return fails("fsync", EIO) ? -1 : real(file);
}

int fdatasync(int file) {
  REAL(fdatasync)
  return fails("fsync", EIO) ? -1 : real(file);
}

int rename(const char *from, const char *to) {
  REAL(rename)
  return fails("rename", EACCES) ? -1 : real(from, to);
}

int renameat(int from_at, const char *from, int to_at, const char *to) {
  REAL(renameat)
  return fails("rename", EACCES) ? -1 : real(from_at, from, to_at, to);
}

int linkat(int from_at, const char *from, int to_at, const char *to, int flags) {
  REAL(linkat)
  return fails("rename", EACCES) ? -1 : real(from_at, from, to_at, to, flags);
}
