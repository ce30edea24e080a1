/* Capture ranges: where they begin and end. Profiler calls and NVTX ranges decide that on the
 * application's threads, a trigger or the time on the writer's.
 *
 *     cause                  begins                     ends
 *     profiler_api           EXIT of cuProfilerStart    ENTER of cuProfilerStop
 *     nvtx                   before the push or start   after the pop or end
 *     schedule               as one of the two, of the first and the last active step of a cycle
 *     trigger                SIGUSR2, `miniprof ctl`
 *     duration               MINIPROF_DELAY is over     MINIPROF_DURATION is over
 *
 * Whatever the cause, a begin inside a range and an end outside of one have no effect. But if a
 * thread enters an NVTX range while another thread still begins the capture range, it waits for
 * that.
 *
 * The writer learns of ranges by marks and applies them in order (capture.h). This file posts the
 * marks and has CUPTI's kinds switched. In all modes but `auto`, `all` and `pause` nothing is
 * enabled outside of ranges, except while a schedule warms up.
 *
 * A thread of the application that ends a range waits until its context is idle, but no longer than
 * MP_TIME_RANGE_IDLE: a kernel may run until this thread tells it to end. Then CUPTI is flushed. If
 * the context is idle, all records of the range come now. If it is not, or if the writer ends the
 * range, the records of work that still runs come later, by its launch.
 *
 * Ranges in quick succession would fill CUPTI's buffers with few records each, and CUPTI then loses
 * records that it does not count. Quick are ranges that begin within MP_TIME_RANGE_QUICK after the
 * begin of the one before. After RANGE_QUICK_ROW quick ones in a row, the end of a range neither
 * flushes nor switches off. The writer does both once no range has followed for
 * MP_TIME_RANGE_QUICK. Until then CUPTI stays on, and what is launched between ranges is left out
 * by its correlation id.
 *
 * The flusher makes the calls into CUPTI at the end of a range: the flush and the switching off
 * (range_leave). The thread that ends the range waits a second for it at most. So a CUPTI that
 * hangs, or is minutes late, stops neither the program nor the writer.
 *
 * Correlation ids tell which launches are inside a range. Where no CUDA call begins or ends the
 * range, the recorder makes one to get an id: cuDriverGetVersion, which does nothing.
 */
#ifndef MP_RECORD_PROCESS_RANGE_H
#define MP_RECORD_PROCESS_RANGE_H

#include <cuda.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/settings/forms.h"

#define RANGE_QUICK_ROW 8

struct recorder;

enum range_answer {
    RANGE_DONE,
    RANGE_LATE,      /* ended, but CUPTI does not answer: range_leave */
    RANGE_IS_OPEN,   /* not begun: a range is open */
    RANGE_IS_CLOSED, /* not ended: no range is open */
    RANGE_IS_OVER,   /* as many ranges as were wanted have been recorded */
    RANGE_NOT_NOW    /* MINIPROF_DELAY is not over, or this cause does not count here */
};

struct ranges {
    /* Written before recording begins, read-only afterwards. */
    bool by_nvtx;   /* the NVTX ranges of one name count */
    bool scheduled; /* each of them is a step of the schedule */
    bool at_once;   /* the first range begins by itself */
    struct mp_schedule schedule;
    uint32_t max; /* ranges to record; 0: any number */

    _Atomic uint64_t met;     /* NVTX ranges of the name that have begun, ever */
    _Atomic uint32_t toggles; /* SIGUSR2 signals that the writer has not handled */

    pthread_mutex_t lock;   /* of all below; `work` may be taken inside of it */
    pthread_cond_t changed; /* `switching`, `posted` or `left` changed */
    bool ready;             /* MINIPROF_DELAY is over */
    int64_t ready_at;       /* when MINIPROF_DELAY ends, ms */
    bool open;              /* a range is open */
    bool posted;            /* the writer knows of it */
    bool anew;              /* mode auto: the first cuProfilerStart has come */
    bool over;              /* as many as were wanted have ended */
    uint64_t begun;         /* ranges, ever */
    uint64_t ended;         /* ranges that have ended */
    int64_t opened_at;      /* when the open range began, ms */
    int64_t closed_at;      /* when the last one ended, ms; 0: none has */
    uint32_t quick;         /* ranges in a row that began soon after the one before began */
    bool lingers;           /* a quick one has ended: the flush and the switching off wait */
    bool in_step;
    bool warm;      /* the kinds stay on, for a schedule's warm-up */
    uint64_t steps; /* steps that have ended */
    bool on;        /* the kinds are on */
    bool retired;   /* the kinds were switched off for good */
    bool switching; /* a thread is inside activity_enable or disable */

    /* Requests to the flusher, at the end of ranges. */
    uint64_t leaves; /* requests, ever */
    uint64_t left;   /* requests that are done */
    bool flushes;    /* the pending request includes a flush */
    uint64_t renews; /* register the clock again, if the range of this number is the last; or 0 */
    bool late;       /* a wait for the flusher was in vain, and it has not finished since */
    bool late_said;  /* the log line about it, once */
};

/* Reads the settings, and warns of those without effect. Before NVTX or CUDA start. */
void range_configure(struct recorder *recorder);

/* Recording begins: switches the kinds on, if they are wanted now. */
void range_go(struct recorder *recorder);

/* EXIT of cuProfilerStart and ENTER of cuProfilerStop, with the ids of these calls. */
void range_profiler_start(struct recorder *recorder, uint32_t correlation);
void range_profiler_stop(struct recorder *recorder, uint32_t correlation);

/* Before these calls, where CUPTI tells neither of them nor of their ids. */
void range_profiler_call(struct recorder *recorder, bool begins);

/* Pauses the open range, and goes on with it: nothing is recorded meanwhile. In the trace the range
 * ends, and another one begins. At a moment without work in flight, on one of the application's
 * threads, outside of the callback of a launch. False if there is no such range. *late if CUPTI
 * does not answer: it may still record for a while. */
bool range_pause(struct recorder *recorder, bool *late);
bool range_resume(struct recorder *recorder);

/* A call of cuDriverGetVersion, which the recorder makes to get a correlation id. */
void range_note_call(struct recorder *recorder, uint32_t correlation);

/* Nothing can be recorded any more: ends all ranges, begins no other, and switches everything off
 * for good, so that it costs the program nothing. The writer. */
void range_give_up(struct recorder *recorder);

/* The user asks for the begin or end of a range. The writer only. */
enum range_answer range_trigger(struct recorder *recorder, bool begins);

/* Begins and ends ranges as time demands. Returns in how many ms to call again, at most `max`. The
 * writer only. */
int range_tick(struct recorder *recorder, int max);

/* Whether a range is open; *number is that of the last range. Any thread. */
bool range_is_open(struct recorder *recorder, uint64_t *number, bool *over);

/* ---- Switching ----
 *
 * Switches CUPTI's kinds as capture ranges need them. One thread switches at a time, without
 * holding the lock of the ranges. Other threads wait for it if their next calls are to be recorded.
 * They may hold something that the switching thread needs, so no wait is longer than a second.
 *
 *     range opened --settle--> kinds on --> mark posted --await_posted--> launches are inside
 *     range closed --leave--> the flusher: CUPTI flushed, at times its clock registered again
 *                             --settle--> kinds off --> the program
 *
 * At the begin of a range the thread that begins it switches; at the end the flusher does. If CUPTI
 * does not answer the flusher, nobody waits a second time: ranges begin and end meanwhile. The
 * thread that switches continues until the kinds are as wanted at that moment.
 */

struct gpu;

/* Switches the kinds as they are wanted now. If another thread is switching, waits for it, even if
 * that leads to the wanted state. Any thread, without the lock. */
void range_settle(struct recorder *recorder);

/* The end of a step, or of the range with the number `closed`, unless that is 0. Has the flusher
 * settle. For a range the flusher flushes CUPTI first; if `renews` and no other range has begun
 * since, it also registers the clock again. False if this takes more than a second, which is said
 * once; the flusher finishes when CUPTI answers. Any thread but the flusher, without the lock; the
 * writer takes records while it waits. */
bool range_leave(struct recorder *recorder, uint64_t closed, bool renews);

/* Does what range_leave has asked for. The flusher only. */
void range_serve(struct recorder *recorder);

/* If another thread has opened a range, waits until its mark is posted. Any thread, without the
 * lock. */
void range_await_posted(struct recorder *recorder);

/* gpu_switch_alone, with the recorder's `gpu`. Any thread, without the lock. */
bool range_switch(struct gpu *gpu, void (*how)(struct gpu *gpu));

#endif
