/* How the columns of tables.def are turned into numbers that compress well.
 *
 * A value is predicted from the rows before it. Only the difference to the prediction (the
 * residual) is stored: noise as a token and raw bits, structure as bytes in which zstd finds
 * repetitions.
 *
 *     lane      rows of one stream or thread follow each other; each has its own "last value"
 *     context   rows with the same keys behave alike: the same kernel takes the same time
 *
 * State is fixed in size, addressed by hash and reset in every chunk. So collisions and damage cost
 * bytes, never correctness. Encoder and decoder run the same update, in wrapping 64-bit arithmetic.
 */
#ifndef MP_TRACE_CODEC_CODEC_H
#define MP_TRACE_CODEC_CODEC_H

#include <miniprof/format.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* A column's codec as tables.def states it: positions of other columns of the table, or -1. */
struct mp_codec {
    uint8_t kind;    /* enum mp_codec_kind */
    uint8_t predict; /* MP_PREDICT_* */
    int8_t lane;
    int8_t key1;
    int8_t key2;
};

struct mp_predictor {
    uint64_t lane_last[1 << MP_LANE_BITS];
    uint64_t lane_keys[1 << MP_LANE_BITS];
    uint64_t context[1 << MP_CONTEXT_BITS];
    uint8_t seen[1 << MP_CONTEXT_BITS];
};

/* Odd constants of the hashes; they are part of the format (docs/trace-format.md, section 6). */
#define MP_HASH_LANE 0x9E3779B185EBCA87u
#define MP_HASH_KEY1 0xC2B2AE3D27D4EB4Fu
#define MP_HASH_KEY2 0x165667B19E3779F9u
#define MP_HASH_PREV 0x85EBCA77C2B2AE63u
#define MP_HASH_SELF 0x27D4EB2F165667C5u
#define MP_HASH_LAST 0xFF51AFD7ED558CCDu

static inline void mp_predictor_reset(struct mp_predictor *p, unsigned predict)
{
    memset(p->lane_last, 0, sizeof p->lane_last);
    memset(p->lane_keys, 0, sizeof p->lane_keys);
    memset(p->context, 0, sizeof p->context);
    if (predict & (MP_PREDICT_CONTEXT_MEAN | MP_PREDICT_CONTEXT_SELF))
        memset(p->seen, 0, sizeof p->seen);
}

static inline unsigned mp_lane_slot(uint64_t lane)
{
    return (unsigned)((lane * MP_HASH_LANE) >> (64 - MP_LANE_BITS));
}

static inline uint64_t mp_keys_hash(uint64_t key1, uint64_t key2)
{
    return key1 * MP_HASH_KEY1 + key2 * MP_HASH_KEY2;
}

/* Context of a row: `keys` of the row itself, and what `predict` adds to them. */
static inline unsigned mp_context_slot(const struct mp_predictor *p, unsigned predict,
                                       unsigned lane, uint64_t keys)
{
    uint64_t hash = keys + lane * MP_HASH_LANE;
    if (predict & MP_PREDICT_CONTEXT_PREV)
        hash += p->lane_keys[lane] * MP_HASH_PREV;
    if (predict & MP_PREDICT_CONTEXT_SELF)
        hash += p->lane_last[lane] * MP_HASH_SELF;
    hash = (hash ^ (hash >> 32)) * MP_HASH_LAST;
    return (unsigned)(hash >> (64 - MP_CONTEXT_BITS));
}

/* Arithmetic shift right by `bits` of a two's complement number. */
static inline uint64_t mp_shift_signed(uint64_t value, unsigned bits)
{
    return (uint64_t)((int64_t)value >> bits);
}

/* The context's prediction. A running mean is kept in sixteenths. If nothing has followed the
 * lane's last value so far, the next value is most likely new, and new ids count up. */
static inline uint64_t mp_context_value(const struct mp_predictor *p, unsigned predict,
                                        unsigned lane, unsigned context)
{
    if ((predict & MP_PREDICT_CONTEXT_SELF) && !p->seen[context])
        return p->lane_last[lane] + 1;
    if (predict & MP_PREDICT_CONTEXT_MEAN)
        return mp_shift_signed(p->context[context] + 8, 4);
    if (predict & MP_PREDICT_CONTEXT_LAST)
        return p->context[context];
    return 0;
}

/* Tells the context which value came. The mean moves by a quarter of the difference: measured on
 * H100 kernel durations, this takes 4.0 bits a value, the last value as prediction 4.5 bits. */
static inline void mp_context_learn(struct mp_predictor *p, unsigned predict, unsigned context,
                                    uint64_t value)
{
    if (predict & MP_PREDICT_CONTEXT_MEAN) {
        uint64_t mean = p->context[context];
        p->context[context] =
            p->seen[context] ? mean + mp_shift_signed((value << 4) - mean, 2) : value << 4;
        p->seen[context] = 1;
    } else if (predict & MP_PREDICT_CONTEXT_LAST) {
        p->context[context] = value;
        p->seen[context] = 1;
    }
}

/* A device's times advance in steps (32 ns on an H100), and CUPTI maps them to the host's clock by
 * a straight line. A grid undoes this mapping: time = anchor + floor((tick * step + fraction) /
 * 2^32) + offset + correction. The correction is mostly 0. If corrections stay on one side, the
 * offset follows them. step = 2^32 means plain nanoseconds. */
struct mp_grid {
    uint64_t anchor;
    uint64_t step;     /* ns in 32.32 fixed point */
    uint32_t fraction; /* ns * 2^32 */
};

#define MP_GRID_UNIT ((uint64_t)1 << 32)

/* Time of a tick, before the correction. */
static inline uint64_t mp_grid_time(const struct mp_grid *grid, uint64_t tick)
{
    if (grid->step == MP_GRID_UNIT)
        return grid->anchor + tick;
    __int128 scaled = (__int128)(int64_t)tick * (int64_t)grid->step + grid->fraction;
    return grid->anchor + (uint64_t)(scaled >> 32);
}

/* The offset of a grid, and how the corrections have leaned since it last moved. */
struct mp_drift {
    uint64_t offset; /* ns */
    int32_t lean;
};

#define MP_DRIFT_LEAN                                                                              \
    8 /* the offset moves by 1 ns when corrections to one side exceed the zeros by this many */

static inline void mp_drift_learn(struct mp_drift *drift, uint64_t correction)
{
    int64_t by = (int64_t)correction;
    if (by == 0) {
        drift->lean -= (drift->lean > 0) - (drift->lean < 0);
    } else if (by > 1 || by < -1) {
        drift->offset += correction;
        drift->lean = 0;
    } else {
        drift->lean += (int32_t)by;
        if (drift->lean == MP_DRIFT_LEAN || drift->lean == -MP_DRIFT_LEAN) {
            drift->offset += correction;
            drift->lean = 0;
        }
    }
}

#endif
