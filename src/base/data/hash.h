/* Hashing in memory, and the checksum on disk; xxHash is compiled in, so no library is needed at
 * run time. */
#ifndef MP_BASE_DATA_HASH_H
#define MP_BASE_DATA_HASH_H

#include <stddef.h>
#include <stdint.h>

#ifdef __clang_analyzer__ /* need not follow calls into xxHash's own code */
uint64_t XXH3_64bits_withSeed(const void *data, size_t bytes, uint64_t seed);
uint64_t XXH64(const void *data, size_t bytes, uint64_t seed);
typedef struct {
    uint64_t state[11];
} XXH64_state_t;
int XXH64_reset(XXH64_state_t *state, uint64_t seed);
int XXH64_update(XXH64_state_t *state, const void *data, size_t bytes);
uint64_t XXH64_digest(const XXH64_state_t *state);
#else
#define XXH_INLINE_ALL
#include <xxhash.h>
#endif

/* XXH3 of `bytes` bytes. For tables in memory; not stored in files. */
static inline uint64_t mp_hash64(const void *data, size_t bytes, uint64_t seed)
{
    return XXH3_64bits_withSeed(data, bytes, seed);
}

/* XXH64 with seed 0: the checksum of format.h, chosen because every language has it. */
static inline uint64_t mp_checksum64(const void *data, size_t bytes)
{
    return XXH64(data, bytes, 0);
}

/* The same checksum for bytes that come in pieces: begin, add each piece, end. */
typedef XXH64_state_t mp_checksum_state;

static inline void mp_checksum_begin(mp_checksum_state *state)
{
    XXH64_reset(state, 0);
}

static inline void mp_checksum_add(mp_checksum_state *state, const void *data, size_t bytes)
{
    XXH64_update(state, data, bytes);
}

static inline uint64_t mp_checksum_end(const mp_checksum_state *state)
{
    return XXH64_digest(state);
}

/* Spreads the bits of a number over all 64 (a bijection; finalizer of splitmix64, Steele et al.
 * 2014). */
static inline uint64_t mp_mix64(uint64_t value)
{
    value ^= value >> 30;
    value *= UINT64_C(0xbf58476d1ce4e5b9);
    value ^= value >> 27;
    value *= UINT64_C(0x94d049bb133111eb);
    value ^= value >> 31;
    return value;
}

#endif
