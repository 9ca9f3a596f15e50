/*
 * bytes.c: the container of models, streams and monitors. FORMAT.md, "The container", is the specification.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#include "bytes.h"

/* Like that of PNG, for the same reasons: a byte above 127, both kinds of line end, the end-of-file of DOS. */
#define MAGIC_SIZE 8

static void put_magic(unsigned char *at, const container_kind *kind) {
  static const unsigned char magic[MAGIC_SIZE] = {0x89, 'F', 'B', 0, '\r', '\n', 0x1A, '\n'};
  memcpy(at, magic, sizeof magic);
  at[3] = kind->letter;
}

/*
 * Every little-endian 64-bit word is XORed in and mixed by a bijection. So the state after any word is a bijection of the
 * state before it, and a change confined to one aligned word, a single byte for instance, always changes the result. Any
 * other change is missed with chance 2^-64.
 */
static uint64_t checksum_from(uint64_t state, const unsigned char *bytes, size_t size) {
  for (size_t i = 0; i < size; i += 8) state = mix(state ^ get_u64(bytes + i));
  return state;
}

static uint64_t checksum_of(const unsigned char *bytes, size_t size) { return checksum_from(0, bytes, size); }

/* Each step of a chain waits for the one before, so four chains take hardly longer than one. */
void fastbin_checksums(const payload *containers, size_t n, uint64_t *checksums) {
  uint64_t s0 = 0, s1 = 0, s2 = 0, s3 = 0;
  size_t common = 0;
  if (n == CHECKSUM_LANES) {
    const unsigned char *c0 = containers[0].start, *c1 = containers[1].start, *c2 = containers[2].start, *c3 = containers[3].start;
    common = containers[0].size;
    for (size_t k = 1; k < n; k++) common = containers[k].size < common ? containers[k].size : common;
    common -= CHECKSUM_SIZE;
    for (size_t i = 0; i < common; i += 8) {
      s0 = mix(s0 ^ get_u64(c0 + i));
      s1 = mix(s1 ^ get_u64(c1 + i));
      s2 = mix(s2 ^ get_u64(c2 + i));
      s3 = mix(s3 ^ get_u64(c3 + i));
    }
  }
  for (size_t k = 0; k < n; k++) {
    uint64_t state = k == 0 ? s0 : k == 1 ? s1 : k == 2 ? s2 : s3;
    checksums[k] = checksum_from(state, containers[k].start + common, containers[k].size - CHECKSUM_SIZE - common);
  }
}

/* ------------------------------------------------------------------------------------------------------------- */
/* Writing                                                                                                       */
/* ------------------------------------------------------------------------------------------------------------- */

size_t fastbin_container_size(const container_kind *kind, const size_t *sizes) {
  size_t size = HEADER_SIZE + CHECKSUM_SIZE;
  for (int k = 0; k < kind->n_sections; k++) size += sizes[k] > 0 ? SECTION_HEADER_SIZE + padded(sizes[k]) : 0;
  return size;
}

fastbin_status fastbin_write_container(const container_kind *kind, const size_t *sizes, put_payload *put, const void *content,
                                       void *buffer, size_t capacity) {
  size_t size = fastbin_container_size(kind, sizes);
  unsigned char *start = buffer;
  unsigned char *at = start + HEADER_SIZE;
  uint32_t n_written = 0;
  if (capacity < size) return FASTBIN_ERROR_BUFFER;
  for (int k = 0; k < kind->n_sections; k++) {
    if (sizes[k] == 0) continue;
    n_written++;
    at = put_u32(at, kind->sections[k].tag);
    at = put_u32(at, kind->sections[k].flags);
    at = put_u64(at, sizes[k]);
    at = put(at, content, k, sizes[k]);
  }
  put_magic(start, kind);
  put_u32(start + 8, kind->version);
  put_u32(start + 12, n_written);
  put_u64(start + 16, size);
  put_u64(at, checksum_of(start, (size_t)(at - start)));
  return FASTBIN_OK;
}

/* ------------------------------------------------------------------------------------------------------------- */
/* Reading                                                                                                       */
/* ------------------------------------------------------------------------------------------------------------- */

fastbin_status fastbin_check_start(const container_kind *kind, const unsigned char *bytes, size_t size) {
  unsigned char magic[MAGIC_SIZE];
  uint64_t total;
  put_magic(magic, kind);
  if (memcmp(bytes, magic, size < MAGIC_SIZE ? size : MAGIC_SIZE) != 0) return FASTBIN_ERROR_MAGIC;
  if (size < HEADER_SIZE) return FASTBIN_ERROR_LENGTH;
  if (get_u32(bytes + 8) > kind->version) return FASTBIN_ERROR_FORMAT_VERSION;
  total = get_u64(bytes + 16);
  return total < size || total % 8 != 0 ? FASTBIN_ERROR_LENGTH : FASTBIN_OK;
}

/* The same for all of its bytes but the checksum. */
static fastbin_status check_extent(const container_kind *kind, const unsigned char *bytes, size_t size) {
  fastbin_status status = fastbin_check_start(kind, bytes, size);
  if (status != FASTBIN_OK) return status;
  return get_u64(bytes + 16) != size || size < HEADER_SIZE + CHECKSUM_SIZE ? FASTBIN_ERROR_LENGTH : FASTBIN_OK;
}

static fastbin_status check_seal(const unsigned char *bytes, size_t size, uint64_t checksum) {
  if (get_u64(bytes + size - CHECKSUM_SIZE) != checksum) return FASTBIN_ERROR_CHECKSUM;
  return get_u32(bytes + 8) > 0 ? FASTBIN_OK : FASTBIN_ERROR_CONTENT; /* version 0 was never written */
}

fastbin_status fastbin_check_container(const container_kind *kind, const unsigned char *bytes, size_t size) {
  fastbin_status status = check_extent(kind, bytes, size);
  return status == FASTBIN_OK ? check_seal(bytes, size, checksum_of(bytes, size - CHECKSUM_SIZE)) : status;
}

static int section_of(const container_kind *kind, uint32_t tag) {
  int k = 0;
  while (k < kind->n_sections && kind->sections[k].tag != tag) k++;
  return k;
}

/*
 * The sections between the header and the checksum. Known ones may not repeat or change their order, which is what keeps
 * the bytes of a content unique. The first one that the kind knows, which says how to read the others, comes first of all, also
 * before sections of later versions.
 */
static fastbin_status find_sections(const container_kind *kind, const unsigned char *bytes, size_t end, payload *payloads) {
  uint32_t n_sections = get_u32(bytes + 12);
  size_t at = HEADER_SIZE;
  int next = 0;
  for (uint32_t i = 0; i < n_sections; i++) {
    int section;
    uint32_t flags;
    uint64_t size;
    if (end - at < SECTION_HEADER_SIZE) return FASTBIN_ERROR_CONTENT;
    section = section_of(kind, get_u32(bytes + at));
    flags = get_u32(bytes + at + 4);
    size = get_u64(bytes + at + 8);
    at += SECTION_HEADER_SIZE;
    if (size == 0 || size > end - at) return FASTBIN_ERROR_CONTENT; /* end - at is a multiple of 8: padding fits, too */
    for (size_t k = (size_t)size; k < padded((size_t)size); k++) {
      if (bytes[at + k] != 0) return FASTBIN_ERROR_CONTENT;
    }
    if (section == kind->n_sections) {
      if (flags != 0) return FASTBIN_ERROR_FORMAT_VERSION;
    } else {
      if (section < next || flags != kind->sections[section].flags) return FASTBIN_ERROR_CONTENT;
      payloads[section].start = bytes + at;
      payloads[section].size = (size_t)size;
      next = section + 1;
    }
    at += padded((size_t)size);
  }
  return at == end && payloads[0].start == bytes + HEADER_SIZE + SECTION_HEADER_SIZE ? FASTBIN_OK : FASTBIN_ERROR_CONTENT;
}

fastbin_status fastbin_read_container(const container_kind *kind, const unsigned char *bytes, size_t size,
                                      const uint64_t *checksum, payload *payloads) {
  fastbin_status status = check_extent(kind, bytes, size);
  for (int k = 0; k < kind->n_sections; k++) payloads[k] = (payload){NULL, 0};
  if (status == FASTBIN_OK) status = check_seal(bytes, size, checksum ? *checksum : checksum_of(bytes, size - CHECKSUM_SIZE));
  return status == FASTBIN_OK ? find_sections(kind, bytes, size - CHECKSUM_SIZE, payloads) : status;
}

int fastbin_sizes_are(const payload *payloads, const size_t *sizes, int n_sections) {
  for (int k = 0; k < n_sections; k++) {
    if (payloads[k].size != sizes[k]) return 0;
  }
  return 1;
}
