/* What a program does now: sums of the last interval and since the start, from a trace that is read
 * while it is written (docs/top.md defines the numbers).
 *
 *     live_init(&live, trace, &options)
 *     repeat: live_take(&live, &batch) for each batch that has come
 *             live_tick(&live, trace, cursor, wall, last)     the interval is over
 *             ... look at it ...
 *             live_next(&live)                          the next one begins
 *
 * Rows come late, and rows of one table come after later rows of other tables. The call that
 * launched a kernel is found by the correlation id in a table of recent calls. The range is found
 * in the recent NVTX history of the calling thread. A kernel whose call or range is not found yet
 * waits for one tick:
 *
 *     kernel --correlation--> recent call --thread, time--> history: innermost range since then
 *
 * Memory is bounded whatever the length of the trace: 24 MiB of tables, 1 MiB a device, at most 24
 * MiB of history (of at most 65536 threads), and sums by name, of which LIVE_MAX_NAMES are kept.
 * Only the names themselves and the open ranges (nvtx/open.h) grow: about 250 bytes for each thread
 * that ever began a range. Work has no layer if it lies before the history, or if its thread has
 * ranges but no history.
 */
#ifndef MP_REPORTS_LIVE_LIVE_H
#define MP_REPORTS_LIVE_LIVE_H

#include <miniprof/trace.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/data/algorithms.h"
#include "base/data/map.h"
#include "base/metrics/sampled.h"
#include "base/status.h"
#include "profile/definitions.h"
#include "profile/nvtx/open.h"
#include "profile/quality.h"

#define LIVE_MAX_NAMES    65536u /* of kernels, and of layers; more are in no list */
#define LIVE_MAX_STEPS    64u    /* names of outermost NVTX ranges; likewise */
#define LIVE_MAX_DEVICES  64u
#define LIVE_MAX_COUNTERS 1024u /* that are sampled */
#define LIVE_NONE         UINT32_MAX

struct live_options {
    const char *iteration; /* name of the NVTX ranges that are iterations; NULL: the most frequent
                              outermost pushes */
};

/* Work of one name. */
struct live_sum {
    uint64_t domain; /* string id; layers only */
    uint64_t name;   /* string id; of layers 0: work outside of any range */
    uint64_t shape;  /* kernels only: one of its launch shapes */
    uint64_t count;  /* since the start */
    uint64_t ns;
    uint64_t last_count; /* in the last interval */
    uint64_t last_ns;
};

struct live_sums {
    struct live_sum *items; /* owned */
    size_t count, capacity;
    struct mp_map known;
    struct live_sum all; /* of all names, also of those that are not listed */
};

/* NVTX ranges of one name. */
struct live_step {
    uint64_t domain;
    uint64_t name;
    uint64_t count;
    uint64_t last_count;
    uint64_t sum; /* ns, since the start */
    uint64_t last_sum;
    uint64_t newest; /* ns that the last one took */
    struct mp_histogram lengths;
    struct mp_histogram last_lengths;
};

enum live_direction { LIVE_TO_DEVICE, LIVE_TO_HOST, LIVE_OTHER, LIVE_DIRECTIONS };

struct live_copies {
    uint64_t count;
    uint64_t bytes;
    uint64_t last_count;
    uint64_t last_bytes;
};

/* Stretches of time in which a device worked. */
struct live_stretch {
    uint64_t begin;
    uint64_t end;
};

struct live_device {
    uint64_t device; /* ordinal */
    uint64_t until;  /* everything before this time is counted */
    uint64_t busy; /* ns since the start: kernels, copies and sets; overlapping time counts once */
    uint64_t last_busy;
    struct live_stretch *stretches; /* of this interval, not counted yet; owned */
    size_t count;
};

/* A counter that is sampled (MINIPROF_SAMPLE). */
struct live_counter {
    uint64_t device;
    uint64_t name; /* string id; 0: there is no such counter */
    enum metric_unit unit;
    double step;
    double mean;      /* of the last interval in which samples came; not a number: none yet */
    double sum, time; /* of this one: value times ns, and ns */
};

struct live_history;
struct live_call;
struct live_waiting;

struct live {
    struct live_options options;
    struct definitions definitions;
    struct quality quality;
    struct live_sums kernels;
    struct live_sums layers; /* kernels, copies and sets by the innermost range of the launch */
    struct live_copies copies[LIVE_DIRECTIONS];
    struct live_device devices[LIVE_MAX_DEVICES]; /* in order of appearance */
    size_t device_count;
    struct live_counter *counters; /* by id; owned; NULL: none are sampled */
    struct live_step *steps;       /* owned */
    size_t step_count;
    uint64_t records;    /* event rows, since the start */
    uint64_t unlaunched; /* work without correlation id, or whose launch or range was not found */
    uint64_t dropped;
    uint64_t bytes; /* size of the file */

    /* Set by live_tick. */
    uint64_t interval_ns; /* of the trace's clock */
    uint64_t span_ns;     /* from the first row to the last one */
    uint64_t elapsed_ns;  /* since the trace's start, including time in which nothing came; never
                             decreases */
    bool anything;        /* rows of events have come in this interval */

    /* The rest is live*.c's own. */
    uint64_t first_time, horizon, shown, idle_wall;
    uint64_t first_new;
    struct nvtx_open open;
    struct mp_map history_of; /* thread -> histories */
    struct live_history *histories;
    size_t history_count, history_capacity, history_items;
    struct live_call *calls;
    struct live_waiting *waiting;
    size_t waiting_first, waiting_count;
    size_t noted; /* NVTX events since the waiting kernels were last looked at */
};

/* Sets up for a trace. MP_ERR_MEMORY; live_free in any case. */
enum mp_status live_init(struct live *live, const struct mp_trace *trace,
                         const struct live_options *options);

void live_free(struct live *live);

/* Makes the cursor deliver what live_take needs. */
void live_select(struct live *live, struct mp_cursor *cursor);

/* MP_ERR_MEMORY, MP_ERR_LIMIT. */
enum mp_status live_take(struct live *live, const struct mp_batch *batch);

/* The interval is over, after `wall` ns of real time. With `last`, nothing more will come. */
void live_tick(struct live *live, const struct mp_trace *trace, const struct mp_cursor *cursor,
               uint64_t wall, bool last);

/* The next interval begins. */
void live_next(struct live *live);

/* After the file has grown. */
void live_grow(struct live *live, const struct mp_trace *trace);

/* The `room` names with the most time in the interval, then since the start, into `top`. Returns
 * their number. */
size_t live_top(const struct live_sums *sums, const struct live_sum **top, size_t room);

/* The NVTX range by which iterations are counted; NULL: there is none. */
const struct live_step *live_iteration(const struct live *live);

/* The next counter of a device that has a mean, in the order in which they were asked for; NULL:
 * that were all. *position is 0 at first. */
const struct live_counter *live_next_counter(const struct live *live, uint64_t device,
                                             size_t *position);

/* ---- Between live.c and layers.c ---- */

void live_add(struct live_sum *sum, uint64_t ns);

enum mp_status live_layers_init(struct live *live);
void live_layers_free(struct live *live);
enum mp_status live_take_nvtx(struct live *live, const struct mp_batch *batch);
void live_take_calls(struct live *live, const struct mp_batch *batch);
enum mp_status live_take_work(struct live *live, uint64_t correlation, uint64_t ns);
/* Called after NVTX events have come; does nothing while they are few. */
void live_layers_settle(struct live *live);
void live_layers_tick(struct live *live, bool last);

#endif
