/* Values to residuals and back, for whole columns. */
#ifndef MP_TRACE_CODEC_PREDICT_H
#define MP_TRACE_CODEC_PREDICT_H

#include "trace/codec/codec.h"

/* The columns that a codec refers to. NULL if it names none: then the key is 0 in every row. */
struct mp_keys {
    const uint64_t *lane;
    const uint64_t *key1;
    const uint64_t *key2;
};

/* Residuals of a NUMBER column. `state` is scratch space. */
void mp_number_residuals(struct mp_predictor *state, unsigned predict, const struct mp_keys *keys,
                         const uint64_t *values, uint64_t *residuals, uint32_t rows);

/* The inverse; `values` holds the residuals and receives the values. */
void mp_number_values(struct mp_predictor *state, unsigned predict, const struct mp_keys *keys,
                      uint64_t *values, uint32_t rows);

/* An interval column pair in ticks of a grid: begin and, where the table has one, span. */
struct mp_interval {
    struct mp_keys start_keys;
    struct mp_keys span_keys;
    unsigned start_predict;
    unsigned span_predict;
    uint64_t *start;            /* times */
    uint64_t *span;             /* durations, or NULL */
    uint64_t *start_residuals;  /* of the gap to the lane's previous end, in ticks */
    uint64_t *span_residuals;   /* of the span, in ticks */
    uint64_t *start_correction; /* difference between the grid and the time, ns */
    uint64_t *span_correction;
    uint32_t rows;
};

/* `state` holds two predictors: of the begins and of the spans. */
void mp_interval_residuals(struct mp_predictor state[2], const struct mp_grid *grid,
                           const struct mp_interval *interval);
void mp_interval_values(struct mp_predictor state[2], const struct mp_grid *grid,
                        const struct mp_interval *interval);

/* Finds the grid on which times lie; step = MP_GRID_UNIT if there is none. `hint` is the step that
 * other times of the device had; 0 if none is known. */
struct mp_grid mp_grid_find(const uint64_t *start, const uint64_t *span, uint32_t rows,
                            uint64_t hint);

#endif
