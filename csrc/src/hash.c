/*
 * hash.c: tie keys of entities, from a secret salt and an id: HMAC-SHA-256 (RFC 2104, FIPS 180-4), cut to 64 bits.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#include "internal.h"

#define BLOCK_SIZE 64
#define DIGEST_WORDS 8

/* The first 32 bits of the fractional parts of the cube roots of the first 64 primes. */
static const uint32_t round_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01,
    0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc,
    0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
    0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08,
    0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

/* A message in SHA-256: whole blocks are in `state`, the rest is in `block`. */
typedef struct sha256 {
  uint32_t state[DIGEST_WORDS];
  unsigned char block[BLOCK_SIZE];
  uint64_t size;
} sha256;

static uint32_t rotate(uint32_t x, int bits) { return x >> bits | x << (32 - bits); }

static void compress(uint32_t *state, const unsigned char *block) {
  uint32_t w[64], s[DIGEST_WORDS];
  for (int i = 0; i < 16; i++) {
    w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 | (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
  }
  for (int i = 16; i < 64; i++) {
    uint32_t a = w[i - 15], b = w[i - 2];
    w[i] = w[i - 16] + (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) + w[i - 7] + (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
  }
  memcpy(s, state, sizeof s);
  for (int i = 0; i < 64; i++) {
    uint32_t choice = (s[4] & s[5]) ^ (~s[4] & s[6]), majority = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
    uint32_t t1 = s[7] + (rotate(s[4], 6) ^ rotate(s[4], 11) ^ rotate(s[4], 25)) + choice + round_constants[i] + w[i];
    uint32_t t2 = (rotate(s[0], 2) ^ rotate(s[0], 13) ^ rotate(s[0], 22)) + majority;
    memmove(s + 1, s, 7 * sizeof *s);
    s[4] += t1;
    s[0] = t1 + t2;
  }
  for (int i = 0; i < DIGEST_WORDS; i++) state[i] += s[i];
}

static void begin(sha256 *hash) {
  /* The first 32 bits of the fractional parts of the square roots of the first 8 primes. */
  static const uint32_t start[DIGEST_WORDS] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                               0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  memcpy(hash->state, start, sizeof start);
  hash->size = 0;
}

static void feed(sha256 *hash, const void *bytes, size_t size) {
  const unsigned char *at = bytes;
  size_t waiting = (size_t)(hash->size % BLOCK_SIZE);
  hash->size += size;
  while (size > 0) {
    size_t taken = BLOCK_SIZE - waiting < size ? BLOCK_SIZE - waiting : size;
    memcpy(hash->block + waiting, at, taken);
    at += taken;
    size -= taken;
    waiting += taken;
    if (waiting < BLOCK_SIZE) return;
    compress(hash->state, hash->block);
    waiting = 0;
  }
}

static void end(sha256 *hash, unsigned char *digest) {
  static const unsigned char filling[BLOCK_SIZE] = {0x80};
  uint64_t bits = 8 * hash->size;
  unsigned char length[8];
  size_t waiting = (size_t)(hash->size % BLOCK_SIZE);
  for (int i = 0; i < 8; i++) length[i] = (unsigned char)(bits >> (56 - 8 * i));
  feed(hash, filling, (waiting < 56 ? 56 : 120) - waiting);
  feed(hash, length, sizeof length);
  for (int i = 0; i < 4 * DIGEST_WORDS; i++) digest[i] = (unsigned char)(hash->state[i / 4] >> (24 - 8 * (i % 4)));
}

/* One of the two hashes of HMAC, up to its message: the salt's block, XORed with a constant. */
static void begin_hmac(sha256 *hash, const unsigned char *salt_block, unsigned char constant) {
  unsigned char block[BLOCK_SIZE];
  for (int i = 0; i < BLOCK_SIZE; i++) block[i] = salt_block[i] ^ constant;
  begin(hash);
  feed(hash, block, sizeof block);
}

uint64_t fastbin_hash_key(const void *salt, size_t salt_size, const void *id, size_t id_size) {
  unsigned char salt_block[BLOCK_SIZE] = {0};
  unsigned char digest[4 * DIGEST_WORDS];
  uint64_t key = 0;
  sha256 hash;
  if (salt_size > BLOCK_SIZE) {
    begin(&hash);
    feed(&hash, salt, salt_size);
    end(&hash, salt_block);
  } else if (salt_size > 0) {
    memcpy(salt_block, salt, salt_size);
  }
  begin_hmac(&hash, salt_block, 0x36);
  feed(&hash, id, id_size);
  end(&hash, digest);
  begin_hmac(&hash, salt_block, 0x5C);
  feed(&hash, digest, sizeof digest);
  end(&hash, digest);
  for (int i = 0; i < 8; i++) key = key << 8 | digest[i];
  return cap_key(key);
}
