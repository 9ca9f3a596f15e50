/*
 * bytes.h: numbers as bytes, and the container that models, streams and monitors are saved in. FORMAT.md is the specification.
 *
 * A container is a header, sections and a checksum. What differs between the kinds of file is a `container_kind`: the magic,
 * the version, and the sections that it knows, in the one order in which they may stand. Writing is canonical, reading trusts
 * no byte; both go through this module alone.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef FASTBIN_BYTES_H
#define FASTBIN_BYTES_H

#include "internal.h"

#define HEADER_SIZE 24
#define SECTION_HEADER_SIZE 16
#define CHECKSUM_SIZE 8
#define MAX_SECTIONS 24

/* A reader that does not know the section must refuse the file. Without the flag it skips the section. */
#define MUST_UNDERSTAND 1u

/* Tags are four ASCII letters, read as a little-endian number. */
#define TAG(a, b, c, d) ((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)

/* ------------------------------------------------------------------------------------------------------------- */
/* Numbers                                                                                                       */
/* ------------------------------------------------------------------------------------------------------------- */

/* Little-endian on every machine. Each returns the place behind what it wrote. */
static inline unsigned char *put_u32(unsigned char *at, uint32_t number) {
  for (int i = 0; i < 4; i++) at[i] = (unsigned char)(number >> (8 * i));
  return at + 4;
}

static inline unsigned char *put_u64(unsigned char *at, uint64_t number) {
  for (int i = 0; i < 8; i++) at[i] = (unsigned char)(number >> (8 * i));
  return at + 8;
}

static inline unsigned char *put_i32(unsigned char *at, int32_t number) { return put_u32(at, (uint32_t)number); }

static inline unsigned char *put_i64(unsigned char *at, int64_t number) { return put_u64(at, (uint64_t)number); }

static inline unsigned char *put_double(unsigned char *at, double x) { return put_u64(at, bits_of(x)); }

static inline unsigned char *put_doubles(unsigned char *at, const double *x, size_t count) {
  for (size_t i = 0; i < count; i++) at = put_double(at, x[i]);
  return at;
}

static inline unsigned char *put_counts(unsigned char *at, const int64_t *x, size_t count) {
  for (size_t i = 0; i < count; i++) at = put_i64(at, x[i]);
  return at;
}

static inline uint32_t get_u32(const unsigned char *at) {
  return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static inline uint64_t get_u64(const unsigned char *at) {
  uint64_t number = 0;
  for (int i = 0; i < 8; i++) number |= (uint64_t)at[i] << (8 * i);
  return number;
}

/* These take a number from *at and move it on. */
static inline int32_t take_i32(const unsigned char **at) {
  uint32_t number = get_u32(*at);
  int32_t result;
  memcpy(&result, &number, sizeof result);
  *at += 4;
  return result;
}

static inline uint64_t take_u64(const unsigned char **at) {
  uint64_t number = get_u64(*at);
  *at += 8;
  return number;
}

static inline int64_t take_i64(const unsigned char **at) {
  uint64_t number = take_u64(at);
  int64_t result;
  memcpy(&result, &number, sizeof result);
  return result;
}

static inline double take_double(const unsigned char **at) { return double_of(take_u64(at)); }

/* Arrays: to the free part of some memory, which moves on, too; NULL for none. */
static inline const double *take_doubles(const unsigned char **at, size_t count, unsigned char **free_part) {
  double *taken = (double *)(void *)*free_part;
  for (size_t i = 0; i < count; i++) taken[i] = take_double(at);
  *free_part += count * sizeof *taken;
  return count > 0 ? taken : NULL;
}

static inline const int64_t *take_counts(const unsigned char **at, size_t count, unsigned char **free_part) {
  int64_t *taken = (int64_t *)(void *)*free_part;
  for (size_t i = 0; i < count; i++) taken[i] = take_i64(at);
  *free_part += count * sizeof *taken;
  return count > 0 ? taken : NULL;
}

/* -0.0 is never written, so that equal contents have equal bytes. */
static inline int is_negative_zero(double x) { return bits_of(x) == UINT64_C(0x8000000000000000); }

/* ------------------------------------------------------------------------------------------------------------- */
/* Containers (bytes.c)                                                                                          */
/* ------------------------------------------------------------------------------------------------------------- */

typedef struct section_kind {
  uint32_t tag;
  uint32_t flags;
} section_kind;

typedef struct container_kind {
  unsigned char letter;           /* the fourth byte of the magic */
  uint32_t version;               /* written, and the newest that can be read */
  int n_sections;                 /* at most MAX_SECTIONS */
  const section_kind *sections;   /* in the order in which they are written, which is the one in which they must be read;
                                     the first one is in every container */
} container_kind;

/* A section as it lies in the bytes; start is NULL when it is not there. */
typedef struct payload {
  const unsigned char *start;
  size_t size;
} payload;

/* The bytes of a container whose sections have these payloads; a section of size 0 is left out. */
size_t fastbin_container_size(const container_kind *kind, const size_t *sizes);

/* Writes the payload of a section, `size` bytes filled up with zeros to a multiple of 8, and returns the place behind it. */
typedef unsigned char *put_payload(unsigned char *at, const void *content, int section, size_t size);

/* Write a container of these payloads: FASTBIN_ERROR_BUFFER, with nothing written, if `capacity` is too small. */
fastbin_status fastbin_write_container(const container_kind *kind, const size_t *sizes, put_payload *put, const void *content,
                                       void *buffer, size_t capacity);

/* Whether these first bytes can be the start of a container of this kind that is at least so long. */
fastbin_status fastbin_check_start(const container_kind *kind, const unsigned char *bytes, size_t size);

/* The same for all of its bytes: magic, version, length, checksum. */
fastbin_status fastbin_check_container(const container_kind *kind, const unsigned char *bytes, size_t size);

/* fastbin_check_container(), then find the sections: one payload for each that the kind knows. `checksum` is that of these bytes,
   if the caller has computed it, or NULL. */
fastbin_status fastbin_read_container(const container_kind *kind, const unsigned char *bytes, size_t size,
                                      const uint64_t *checksum, payload *payloads);

/* The checksums that belong at the ends of n containers, at most CHECKSUM_LANES, of sizes that are multiples of 8 and more than 8. */
#define CHECKSUM_LANES 4
void fastbin_checksums(const payload *containers, size_t n, uint64_t *checksums);

/* Whether every payload that is there has its size in `sizes`, and every one that is not has a 0 there. */
int fastbin_sizes_are(const payload *payloads, const size_t *sizes, int n_sections);

/* What reading answers where bytes within its own could not be read: they are wrong, unless memory or the version was. */
static inline fastbin_status status_of_part(fastbin_status status) {
  return status == FASTBIN_ERROR_MEMORY || status == FASTBIN_ERROR_FORMAT_VERSION ? status : FASTBIN_ERROR_CONTENT;
}

static inline size_t padded(size_t size) { return (size + 7) & ~(size_t)7; }

static inline unsigned char *put_bytes(unsigned char *at, const void *bytes, size_t size) {
  if (size > 0) memcpy(at, bytes, size);
  memset(at + size, 0, padded(size) - size);
  return at + padded(size);
}

#endif /* FASTBIN_BYTES_H */
