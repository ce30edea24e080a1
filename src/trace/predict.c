/* Replaces values by what the prediction missed, and back. Both directions stand side by side
 * here, because they must update the shared state in the same order.
 */
#include "trace/codec.h"

#include <string.h>

#include "base/data/storage.h"

#include "base/poison.h"

/* Odd constants of the hashes; they are part of the format (docs/trace-format.md, section 6). */
#define HASH_LANE 0x9E3779B185EBCA87u
#define HASH_KEY1 0xC2B2AE3D27D4EB4Fu
#define HASH_KEY2 0x165667B19E3779F9u
#define HASH_PREV 0x85EBCA77C2B2AE63u
#define HASH_SELF 0x27D4EB2F165667C5u
#define HASH_LAST 0xFF51AFD7ED558CCDu

static inline void predictor_reset(struct mp_predictor *state, unsigned predict)
{
    memset(state->lane_last, 0, sizeof state->lane_last);
    memset(state->lane_keys, 0, sizeof state->lane_keys);
    memset(state->context, 0, sizeof state->context);
    if (predict & (MP_PREDICT_CONTEXT_MEAN | MP_PREDICT_CONTEXT_SELF))
        memset(state->seen, 0, sizeof state->seen);
}

static inline unsigned lane_slot(uint64_t lane)
{
    return (unsigned)((lane * HASH_LANE) >> (64 - MP_LANE_BITS));
}

static inline uint64_t keys_hash(uint64_t key1, uint64_t key2)
{
    return key1 * HASH_KEY1 + key2 * HASH_KEY2;
}

/* Context of a row: `keys` of the row itself, and what `predict` adds to them. */
static inline unsigned context_slot(const struct mp_predictor *state, unsigned predict,
                                    unsigned lane, uint64_t keys)
{
    uint64_t hash = keys + lane * HASH_LANE;
    if (predict & MP_PREDICT_CONTEXT_PREV)
        hash += state->lane_keys[lane] * HASH_PREV;
    if (predict & MP_PREDICT_CONTEXT_SELF)
        hash += state->lane_last[lane] * HASH_SELF;
    hash = (hash ^ (hash >> 32)) * HASH_LAST;
    return (unsigned)(hash >> (64 - MP_CONTEXT_BITS));
}

/* Arithmetic shift right by `bits` of a two's complement number. */
static inline uint64_t shift_signed(uint64_t value, unsigned bits)
{
    return (uint64_t)((int64_t)value >> bits);
}

/* The context's prediction. A running mean is kept in sixteenths. If nothing has followed the
 * lane's last value so far, the next value is most likely new, and new ids count up. */
static inline uint64_t context_value(const struct mp_predictor *state, unsigned predict,
                                     unsigned lane, unsigned context)
{
    if ((predict & MP_PREDICT_CONTEXT_SELF) && !state->seen[context])
        return state->lane_last[lane] + 1;
    if (predict & MP_PREDICT_CONTEXT_MEAN)
        return shift_signed(state->context[context] + 8, 4);
    if (predict & MP_PREDICT_CONTEXT_LAST)
        return state->context[context];
    return 0;
}

/* Tells the context which value came. The mean moves by a quarter of the difference: measured on
 * H100 kernel durations, this takes 4.0 bits a value, the last value as prediction 4.5 bits. */
static inline void context_learn(struct mp_predictor *state, unsigned predict, unsigned context,
                                 uint64_t value)
{
    if (predict & MP_PREDICT_CONTEXT_MEAN) {
        uint64_t mean = state->context[context];
        state->context[context] =
            state->seen[context] ? mean + shift_signed((value << 4) - mean, 2) : value << 4;
        state->seen[context] = 1;
    } else if (predict & MP_PREDICT_CONTEXT_LAST) {
        state->context[context] = value;
        state->seen[context] = 1;
    }
}

/* Time of a tick, before the correction. */
static inline uint64_t grid_time(const struct mp_grid *grid, uint64_t tick)
{
    if (grid->step == MP_GRID_UNIT)
        return grid->anchor + tick;
    __int128 scaled = (__int128)(int64_t)tick * (int64_t)grid->step + grid->fraction;
    return grid->anchor + (uint64_t)(scaled >> 32);
}

/* The offset of a grid, and how the corrections have leaned since it last moved. */
struct drift_state {
    uint64_t offset; /* ns */
    int32_t lean;
};

#define DRIFT_LEAN                                                                                 \
    8 /* the offset moves by 1 ns when corrections to one side exceed the zeros by this many */

static inline void drift_learn(struct drift_state *drift, uint64_t correction)
{
    int64_t by = (int64_t)correction;
    if (by == 0) {
        drift->lean -= (drift->lean > 0) - (drift->lean < 0);
    } else if (by > 1 || by < -1) {
        drift->offset += correction;
        drift->lean = 0;
    } else {
        drift->lean += (int32_t)by;
        if (drift->lean == DRIFT_LEAN || drift->lean == -DRIFT_LEAN) {
            drift->offset += correction;
            drift->lean = 0;
        }
    }
}

/* ---- Columns ---- */

static inline uint64_t key_at(const uint64_t *column, uint32_t row)
{
    return column ? column[row] : 0;
}

/* The row's lane and context, and what the lane will remember of its keys. */
struct place {
    unsigned lane;
    unsigned context;
    uint64_t keys;
};

static inline struct place place_of(const struct mp_predictor *state, unsigned predict,
                                    const struct mp_keys *keys, uint32_t row)
{
    struct place place;
    place.lane = lane_slot(key_at(keys->lane, row));
    place.keys = keys_hash(key_at(keys->key1, row), key_at(keys->key2, row));
    place.context = context_slot(state, predict, place.lane, place.keys);
    return place;
}

void mp_number_residuals(struct mp_predictor *state, unsigned predict, const struct mp_keys *keys,
                         const uint64_t *values, uint64_t *residuals, uint32_t rows)
{
    predictor_reset(state, predict);
    for (uint32_t i = 0; i < rows; i++) {
        struct place at = place_of(state, predict, keys, i);
        uint64_t base = predict & MP_PREDICT_BASE_LAST ? state->lane_last[at.lane] : 0;
        uint64_t beyond = values[i] - base;
        residuals[i] = mp_delta(beyond, context_value(state, predict, at.lane, at.context));
        context_learn(state, predict, at.context, beyond);
        state->lane_last[at.lane] = values[i];
        state->lane_keys[at.lane] = at.keys;
    }
}

void mp_number_values(struct mp_predictor *state, unsigned predict, const struct mp_keys *keys,
                      uint64_t *values, uint32_t rows)
{
    predictor_reset(state, predict);
    for (uint32_t i = 0; i < rows; i++) {
        struct place at = place_of(state, predict, keys, i);
        uint64_t base = predict & MP_PREDICT_BASE_LAST ? state->lane_last[at.lane] : 0;
        uint64_t beyond = mp_undelta(context_value(state, predict, at.lane, at.context), values[i]);
        context_learn(state, predict, at.context, beyond);
        values[i] = base + beyond;
        state->lane_last[at.lane] = values[i];
        state->lane_keys[at.lane] = at.keys;
    }
}

/* ---- Intervals ---- */

/* The tick nearest to a time, and the difference between the grid and the time there. */
static inline uint64_t tick_of(const struct mp_grid *grid, uint64_t time, struct drift_state *drift,
                               uint64_t *correction)
{
    if (grid->step == MP_GRID_UNIT) {
        *correction = 0;
        return time - grid->anchor;
    }
    double offset = (double)(int64_t)(time - grid->anchor - drift->offset);
    double tick = offset * ((double)MP_GRID_UNIT / (double)grid->step);
    /* Any tick is correct as long as the correction is computed from it; this tick keeps the
     * correction small. */
    uint64_t nearest = (uint64_t)(int64_t)(tick + (tick < 0 ? -0.5 : 0.5));
    uint64_t off = time - grid_time(grid, nearest) - drift->offset;
    *correction = mp_delta(off, 0);
    drift_learn(drift, off);
    return nearest;
}

static inline uint64_t time_of(const struct mp_grid *grid, uint64_t tick, struct drift_state *drift,
                               uint64_t correction)
{
    uint64_t off = mp_undelta(0, correction);
    uint64_t time = grid_time(grid, tick) + drift->offset + off;
    drift_learn(drift, off);
    return time;
}

void mp_interval_residuals(struct mp_predictor state[2], const struct mp_grid *grid,
                           const struct mp_interval *interval)
{
    struct drift_state drift = {0};
    predictor_reset(&state[0], interval->start_predict);
    predictor_reset(&state[1], interval->span_predict);
    for (uint32_t i = 0; i < interval->rows; i++) {
        struct place at = place_of(&state[0], interval->start_predict, &interval->start_keys, i);
        uint64_t begin = tick_of(grid, interval->start[i], &drift, &interval->start_correction[i]);
        uint64_t gap = begin - state[0].lane_last[at.lane];
        interval->start_residuals[i] =
            mp_delta(gap, context_value(&state[0], interval->start_predict, at.lane, at.context));
        context_learn(&state[0], interval->start_predict, at.context, gap);
        uint64_t end = begin;
        if (interval->span) {
            end = tick_of(grid, interval->start[i] + interval->span[i], &drift,
                          &interval->span_correction[i]);
            struct place span =
                place_of(&state[1], interval->span_predict, &interval->span_keys, i);
            uint64_t ticks = end - begin;
            interval->span_residuals[i] = mp_delta(
                ticks, context_value(&state[1], interval->span_predict, span.lane, span.context));
            context_learn(&state[1], interval->span_predict, span.context, ticks);
        }
        state[0].lane_last[at.lane] = end;
        state[0].lane_keys[at.lane] = at.keys;
    }
}

void mp_interval_values(struct mp_predictor state[2], const struct mp_grid *grid,
                        const struct mp_interval *interval)
{
    struct drift_state drift = {0};
    predictor_reset(&state[0], interval->start_predict);
    predictor_reset(&state[1], interval->span_predict);
    for (uint32_t i = 0; i < interval->rows; i++) {
        struct place at = place_of(&state[0], interval->start_predict, &interval->start_keys, i);
        uint64_t gap =
            mp_undelta(context_value(&state[0], interval->start_predict, at.lane, at.context),
                       interval->start_residuals[i]);
        context_learn(&state[0], interval->start_predict, at.context, gap);
        uint64_t begin = state[0].lane_last[at.lane] + gap;
        interval->start[i] = time_of(grid, begin, &drift, interval->start_correction[i]);
        uint64_t end = begin;
        if (interval->span) {
            struct place span =
                place_of(&state[1], interval->span_predict, &interval->span_keys, i);
            uint64_t ticks = mp_undelta(
                context_value(&state[1], interval->span_predict, span.lane, span.context),
                interval->span_residuals[i]);
            context_learn(&state[1], interval->span_predict, span.context, ticks);
            end = begin + ticks;
            interval->span[i] =
                time_of(grid, end, &drift, interval->span_correction[i]) - interval->start[i];
        }
        state[0].lane_last[at.lane] = end;
        state[0].lane_keys[at.lane] = at.keys;
    }
}

/* ---- Grids ----
 *
 * Finds the grid that a device's times lie on.
 *
 * An H100 stamps its work in steps of 32 ns of its clock. CUPTI maps that clock to the host's
 * by straight lines, so the steps arrive as 32.0006 ns or so, rounded down. The raw remainder then
 * looks like one or two bits of noise in every time, although nothing in it is random. Measured on
 * one H100 over 35 ms: 18.25 ppm of slope, and never more than 1 ns off the line.
 *
 * A step is tried on a sample. Times are followed from one to the next, and the remainder after
 * whole steps is the drift. On a grid the drift is a small fraction of the step; elsewhere it is
 * spread evenly, a quarter of the step on average. Only times near each other are judged in this
 * way, because over a longer gap the unknown slope itself shifts times by more than a step. The
 * near times give a first slope, then all times are followed with it, and the line through their
 * ticks gives slope and offset.
 */

#define SAMPLE_ROWS  2048
#define FINEST_STEP  2   /* ns; ticks of a finer one might not fit in 63 bits */
#define FEWEST_TIMES 24  /* fewer show nothing, and cost nothing either */
#define FEWEST_KNOWN 6   /* the same for a step that another chunk has shown */
#define NEAR         1e5 /* ns: over that, 50 ppm of slope are 5 ns */

/* ns; the largest that fits wins. 1000 and 1024: older devices. */
static const unsigned step_candidates[] = {1024, 1000, 512, 32};

/* libminiprof.so needs only libc, hence no libm. Both functions are exact below 2^53, and all ticks
 * are. */
static double round_down(double x)
{
    double whole = (double)(int64_t)x;
    return whole > x ? whole - 1 : whole;
}

static double magnitude(double x)
{
    return x < 0 ? -x : x;
}

/* Sums of the least squares line through (tick, offset). */
struct line {
    double n, x, y, xx, xy;
};

static void line_add(struct line *line, double x, double y)
{
    line->n += 1;
    line->x += x;
    line->y += y;
    line->xx += x * x;
    line->xy += x * y;
}

struct trial {
    struct line line;
    double near, drift;       /* number of near times, and the sum of their remainders, ns */
    double products, squares; /* of ticks and remainders of the near times */
    double tick, correction, step;
};

static void trial_add(struct trial *trial, double offset)
{
    double tick = round_down((offset - trial->correction) / trial->step + 0.5);
    double correction = offset - tick * trial->step;
    double moved = tick - trial->tick;
    double left = correction - trial->correction;
    if (magnitude(moved) * trial->step < NEAR) {
        trial->near += 1;
        trial->drift += magnitude(left);
        trial->products += left * moved;
        trial->squares += moved * moved;
    }
    trial->tick = tick;
    trial->correction = correction;
    line_add(&trial->line, tick, offset);
}

/* Follows every `stride`th row's times with the given step. */
static struct trial trial_run(const uint64_t *start, const uint64_t *span, uint32_t rows,
                              uint32_t stride, uint64_t anchor, double step)
{
    struct trial trial = {.step = step};
    for (uint32_t i = 0; i < rows; i += stride) {
        if (!start[i])
            continue;
        trial_add(&trial, (double)(int64_t)(start[i] - anchor));
        if (span)
            trial_add(&trial, (double)(int64_t)(start[i] + span[i] - anchor));
    }
    return trial;
}

/* The grid of the line through the trial's ticks; false if the line makes no sense as a step. */
static bool grid_from_line(const struct line *line, double step, struct mp_grid *grid)
{
    double spread = line->n * line->xx - line->x * line->x;
    if (spread <= 0)
        return false;
    double slope = (line->n * line->xy - line->x * line->y) / spread;
    if (!(magnitude(slope - step) < step * 1e-3) || slope < FINEST_STEP)
        return false;
    double offset = (line->y - slope * line->x) / line->n + 0.5; /* times were rounded down */
    if (!(magnitude(offset) < 1e9))
        return false;
    double whole = round_down(offset);
    grid->step = (uint64_t)(slope * (double)MP_GRID_UNIT + 0.5);
    grid->anchor += (uint64_t)(int64_t)whole;
    grid->fraction = (uint32_t)((offset - whole) * (double)MP_GRID_UNIT);
    return true;
}

static bool try_step(const uint64_t *start, const uint64_t *span, uint32_t rows, double step,
                     double fewest, struct mp_grid *grid)
{
    uint32_t sample = rows < SAMPLE_ROWS ? rows : SAMPLE_ROWS;
    struct trial trial = trial_run(start, span, sample, 1, grid->anchor, step);
    if (trial.near < fewest || trial.drift > trial.near * step / 16)
        return false;
    double slope = trial.squares > 0 ? step + trial.products / trial.squares : step;
    if (fewest == FEWEST_KNOWN) /* it was measured over more times than these */
        slope = step;
    if (magnitude(slope - step) > step * 1e-3)
        return false;
    trial =
        trial_run(start, span, rows, (rows + SAMPLE_ROWS - 1) / SAMPLE_ROWS, grid->anchor, slope);
    return grid_from_line(&trial.line, slope, grid);
}

struct mp_grid mp_grid_find(const uint64_t *start, const uint64_t *span, uint32_t rows,
                            uint64_t hint)
{
    struct mp_grid grid = {.step = MP_GRID_UNIT};
    for (uint32_t i = 0; i < rows && !grid.anchor; i++)
        grid.anchor = start[i];
    if (hint > MP_GRID_UNIT &&
        try_step(start, span, rows, (double)hint / (double)MP_GRID_UNIT, FEWEST_KNOWN, &grid))
        return grid;
    for (unsigned i = 0; i < sizeof step_candidates / sizeof *step_candidates; i++)
        if (try_step(start, span, rows, step_candidates[i], FEWEST_TIMES, &grid))
            return grid;
    return grid;
}
