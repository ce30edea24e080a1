/* MINIPROF_SAMPLE: counters of all devices of the process over time, in capture ranges.
 *
 *     default        CUPTI's PM sampling, 10,000 times a second; one pass, nothing runs again
 *     what is left   NVML's GPM metrics and readings, 10 times a second, which any user may read
 *
 * A separate thread ("miniprof-sample") makes all calls into PM sampling and NVML. It opens a
 * device when the process has a context there. It begins and stops with CUPTI's other kinds
 * (process/range.h), and hands the samples to the writer, which keeps those of capture ranges.
 *
 *     the application's thread                     the sampling thread
 *     a context was made, a range begins    -->    opens devices, starts
 *         waits, MP_TIME_SAMPLING_SERVE max <--    started: what is launched now is sampled
 *     a range ends, the process ends        -->    stops, hands over the last samples
 *
 * What a device is sampled with, and why not with more, is said in one line and written to the
 * trace (table `counter`). If sampling fails, the program and the rest of the trace are as without.
 */
#ifndef MP_RECORD_COUNTERS_SAMPLING_H
#define MP_RECORD_COUNTERS_SAMPLING_H

#include <cuda.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "record/counters/samples.h"

#define SAMPLING_DEVICES     64u
#define SAMPLING_PLACE_BYTES 32

struct gpu;
struct sampling_device;

struct sampling {
    /* Written before recording begins, read-only afterwards. */
    bool wanted;
    uint64_t interval; /* ns */
    struct requested_counters *requested;
    struct gpu *gpu;

    struct sample_store store;
    _Atomic uint64_t devices;                            /* that have had a context: a bit each */
    _Atomic uint64_t placed;                             /* those whose place is known */
    char places[SAMPLING_DEVICES][SAMPLING_PLACE_BYTES]; /* on the bus; empty: unknown */
    pthread_mutex_t lock;                                /* of the next six */
    pthread_cond_t changed;
    uint32_t asked, served; /* requests, and the last that was served */
    bool on;                /* sampling is wanted now */
    bool started;           /* the thread exists */
    bool over;              /* it is to end */
    bool late;              /* a wait for it was in vain, and it has not answered since */

    /* The sampling thread's. */
    struct pm_api *pm;
    struct nvml_api *nvml;
    bool pm_tried, nvml_tried;
    char pm_reason[MP_ERROR_TEXT_BYTES];   /* why there is no PM sampling at all; empty: there is */
    char nvml_reason[MP_ERROR_TEXT_BYTES]; /* the same of NVML */
    struct sampling_device *open[SAMPLING_DEVICES];
};

/* Reads the setting. */
void sampling_open(struct sampling *sampling, struct gpu *gpu);

/* A context was made: notes its device. May run inside of any of CUPTI's callbacks. */
void sampling_note_context(struct sampling *sampling, CUcontext context);

/* The call with this id that made a context returns: what follows is sampled, if sampling is on. */
void sampling_await(struct sampling *sampling, uint32_t correlation);

/* Sampling is wanted from here on, or no longer. Waits until that is so. */
void sampling_switch(struct sampling *sampling, bool on);

/* The end of the recording. */
void sampling_finish(struct sampling *sampling);

/* MINIPROF_QUERY=sampling: what the device of the current context can be asked for, as sets without
 * samples. On the calling thread. */
void sampling_query(struct sampling *sampling);

#endif
