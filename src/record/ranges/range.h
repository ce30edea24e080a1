/* Capture ranges, where they begin and end: on the application's threads in cuProfilerStart and
 * Stop and at NVTX ranges, on the writer's by a trigger or by time.
 *
 *     cause                  begins                     ends
 *     profiler_api           EXIT of cuProfilerStart    ENTER of cuProfilerStop
 *     nvtx                   before the push or start   after the pop or end
 *     schedule               as one of the two, of the first and the last active step of a cycle
 *     trigger                SIGUSR2, `miniprof ctl`
 *     duration               MINIPROF_DELAY is over     MINIPROF_DURATION is over
 *
 * Whatever its cause, a begin inside a range and an end outside of one mean nothing; but a thread
 * that comes into an NVTX range while another one still begins waits for that. The writer is told
 * by marks and applies them in order (capture.h). Here the marks are posted and CUPTI's kinds are
 * switched: in all modes but `auto` and `all` nothing is enabled outside of ranges, but while a
 * schedule warms up.
 *
 * A range that an application's thread ends is made to come out first: its context is synchronised
 * and CUPTI flushed. The writer cannot synchronise without delaying others: what still runs then
 * comes later, as its launch was recorded. What is asked of CUPTI at the end, the flush and
 * switching off, the flusher does (range_leave), and is waited for a second at most: a CUPTI that
 * hangs, or is minutes behind, holds up neither the program nor the writer.
 *
 * Which launches are inside is known by correlation ids. Where no CUDA call ends or begins the
 * range, one is made to get an id: cuDriverGetVersion, which does nothing.
 */
#ifndef MP_RECORD_RANGES_RANGE_H
#define MP_RECORD_RANGES_RANGE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/settings/config.h"
#include "base/settings/schedule.h"
#include "trace/codec/schema.h"

struct recorder;

enum range_answer {
    RANGE_DONE,
    RANGE_LATE,      /* ended, but CUPTI does not answer: range_leave */
    RANGE_IS_OPEN,   /* not begun: one is */
    RANGE_IS_CLOSED, /* not ended: none is open */
    RANGE_IS_OVER,   /* as many ranges as were wanted have been recorded */
    RANGE_NOT_NOW    /* MINIPROF_DELAY is not over, or this cause does not count here */
};

struct ranges {
    /* Written before recording begins, read-only afterwards. */
    bool lazy;        /* nothing is enabled outside of ranges */
    bool by_profiler; /* cuProfilerStart and Stop count */
    bool by_nvtx;     /* the NVTX ranges of one name count */
    bool scheduled;   /* and are steps of the schedule */
    bool at_once;     /* the first range begins by itself */
    struct mp_schedule schedule;
    uint32_t most; /* ranges to record; 0: any number */

    _Atomic uint64_t met;     /* NVTX ranges of the name that have begun, ever */
    _Atomic uint32_t toggles; /* SIGUSR2 that the writer has not acted upon */

    pthread_mutex_t lock;   /* of all below; `work` may be taken inside of it */
    pthread_cond_t changed; /* `switching`, `posted` or `left` has */
    bool ready;             /* MINIPROF_DELAY is over */
    int64_t ready_at;       /* when it is, ms */
    bool open;              /* a range is */
    bool posted;            /* the writer knows of it */
    bool anew;              /* mode auto: the first cuProfilerStart has come */
    bool over;              /* as many as were wanted have ended */
    uint64_t begun;         /* ranges, ever */
    uint64_t ended;         /* of those that count */
    int64_t opened_at;      /* the open one, ms */
    bool in_step;
    bool warm;      /* records are wanted for the schedule's sake */
    uint64_t steps; /* that have ended */
    bool on;        /* the kinds are */
    bool retired;   /* and were switched off for good */
    bool switching; /* a thread is inside activity_enable or disable */

    /* What the flusher does where ranges end. */
    uint64_t leaves; /* how often it was asked to, ever */
    uint64_t left;   /* of these, what is done */
    bool flushes;    /* what is not done is to bring out what was launched */
    uint64_t renews; /* and to give CUPTI its clock, if the range of this number is the last */
    bool late;       /* it was waited for in vain, and has not come back since */
    bool late_said;  /* the line about it, once */
};

/* Reads the settings, and says what of them has no effect. Before NVTX or CUDA start. */
void range_configure(struct recorder *recorder);

/* Recording begins: the kinds are switched on, or not yet. */
void range_go(struct recorder *recorder);

/* EXIT of cuProfilerStart and ENTER of cuProfilerStop, with the ids of these calls. */
void range_profiler_start(struct recorder *recorder, uint32_t correlation);
void range_profiler_stop(struct recorder *recorder, uint32_t correlation);

/* An NVTX range of the name has begun; the last has ended. */
void range_nvtx_begin(struct recorder *recorder);
void range_nvtx_end(struct recorder *recorder);

/* A call of the function that correlation ids are asked with. */
void range_note_call(struct recorder *recorder, uint32_t correlation);

/* Nothing can be recorded any more: no range is open or begins, and everything is switched off for
 * good, so that it costs the program nothing. The writer. */
void range_give_up(struct recorder *recorder);

/* The user asks. The writer only. */
enum range_answer range_trigger(struct recorder *recorder, bool begins);

/* Does what it is time for, and answers in how many ms there is something to do; `most` at the
 * latest. The writer only. */
int range_tick(struct recorder *recorder, int most);

/* Whether a range is open; *number is that of the last one. Any thread. */
bool range_is_open(struct recorder *recorder, uint64_t *number, bool *over);

#endif
