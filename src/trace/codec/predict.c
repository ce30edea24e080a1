/* Replaces values by what the prediction missed, and back. Both directions stand side by side
 * here, because they must update the shared state of codec.h in the same order.
 */
#include "trace/codec/predict.h"
#include "base/data/varint.h"

#include "base/poison.h"

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
    place.lane = mp_lane_slot(key_at(keys->lane, row));
    place.keys = mp_keys_hash(key_at(keys->key1, row), key_at(keys->key2, row));
    place.context = mp_context_slot(state, predict, place.lane, place.keys);
    return place;
}

void mp_number_residuals(struct mp_predictor *state, unsigned predict, const struct mp_keys *keys,
                         const uint64_t *values, uint64_t *residuals, uint32_t rows)
{
    mp_predictor_reset(state, predict);
    for (uint32_t i = 0; i < rows; i++) {
        struct place at = place_of(state, predict, keys, i);
        uint64_t base = predict & MP_PREDICT_BASE_LAST ? state->lane_last[at.lane] : 0;
        uint64_t beyond = values[i] - base;
        residuals[i] = mp_delta(beyond, mp_context_value(state, predict, at.lane, at.context));
        mp_context_learn(state, predict, at.context, beyond);
        state->lane_last[at.lane] = values[i];
        state->lane_keys[at.lane] = at.keys;
    }
}

void mp_number_values(struct mp_predictor *state, unsigned predict, const struct mp_keys *keys,
                      uint64_t *values, uint32_t rows)
{
    mp_predictor_reset(state, predict);
    for (uint32_t i = 0; i < rows; i++) {
        struct place at = place_of(state, predict, keys, i);
        uint64_t base = predict & MP_PREDICT_BASE_LAST ? state->lane_last[at.lane] : 0;
        uint64_t beyond =
            mp_undelta(mp_context_value(state, predict, at.lane, at.context), values[i]);
        mp_context_learn(state, predict, at.context, beyond);
        values[i] = base + beyond;
        state->lane_last[at.lane] = values[i];
        state->lane_keys[at.lane] = at.keys;
    }
}

/* ---- Intervals ---- */

/* The tick nearest to a time, and the difference between the grid and the time there. */
static inline uint64_t tick_of(const struct mp_grid *grid, uint64_t time, struct mp_drift *drift,
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
    uint64_t off = time - mp_grid_time(grid, nearest) - drift->offset;
    *correction = mp_delta(off, 0);
    mp_drift_learn(drift, off);
    return nearest;
}

static inline uint64_t time_of(const struct mp_grid *grid, uint64_t tick, struct mp_drift *drift,
                               uint64_t correction)
{
    uint64_t off = mp_undelta(0, correction);
    uint64_t time = mp_grid_time(grid, tick) + drift->offset + off;
    mp_drift_learn(drift, off);
    return time;
}

void mp_interval_residuals(struct mp_predictor state[2], const struct mp_grid *grid,
                           const struct mp_interval *interval)
{
    struct mp_drift drift = {0};
    mp_predictor_reset(&state[0], interval->start_predict);
    mp_predictor_reset(&state[1], interval->span_predict);
    for (uint32_t i = 0; i < interval->rows; i++) {
        struct place at = place_of(&state[0], interval->start_predict, &interval->start_keys, i);
        uint64_t begin = tick_of(grid, interval->start[i], &drift, &interval->start_correction[i]);
        uint64_t gap = begin - state[0].lane_last[at.lane];
        interval->start_residuals[i] = mp_delta(
            gap, mp_context_value(&state[0], interval->start_predict, at.lane, at.context));
        mp_context_learn(&state[0], interval->start_predict, at.context, gap);
        uint64_t end = begin;
        if (interval->span) {
            end = tick_of(grid, interval->start[i] + interval->span[i], &drift,
                          &interval->span_correction[i]);
            struct place span =
                place_of(&state[1], interval->span_predict, &interval->span_keys, i);
            uint64_t ticks = end - begin;
            interval->span_residuals[i] =
                mp_delta(ticks, mp_context_value(&state[1], interval->span_predict, span.lane,
                                                 span.context));
            mp_context_learn(&state[1], interval->span_predict, span.context, ticks);
        }
        state[0].lane_last[at.lane] = end;
        state[0].lane_keys[at.lane] = at.keys;
    }
}

void mp_interval_values(struct mp_predictor state[2], const struct mp_grid *grid,
                        const struct mp_interval *interval)
{
    struct mp_drift drift = {0};
    mp_predictor_reset(&state[0], interval->start_predict);
    mp_predictor_reset(&state[1], interval->span_predict);
    for (uint32_t i = 0; i < interval->rows; i++) {
        struct place at = place_of(&state[0], interval->start_predict, &interval->start_keys, i);
        uint64_t gap =
            mp_undelta(mp_context_value(&state[0], interval->start_predict, at.lane, at.context),
                       interval->start_residuals[i]);
        mp_context_learn(&state[0], interval->start_predict, at.context, gap);
        uint64_t begin = state[0].lane_last[at.lane] + gap;
        interval->start[i] = time_of(grid, begin, &drift, interval->start_correction[i]);
        uint64_t end = begin;
        if (interval->span) {
            struct place span =
                place_of(&state[1], interval->span_predict, &interval->span_keys, i);
            uint64_t ticks = mp_undelta(
                mp_context_value(&state[1], interval->span_predict, span.lane, span.context),
                interval->span_residuals[i]);
            mp_context_learn(&state[1], interval->span_predict, span.context, ticks);
            end = begin + ticks;
            interval->span[i] =
                time_of(grid, end, &drift, interval->span_correction[i]) - interval->start[i];
        }
        state[0].lane_last[at.lane] = end;
        state[0].lane_keys[at.lane] = at.keys;
    }
}
