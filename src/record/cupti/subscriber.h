/* Which of CUPTI's callbacks are on: those of calls whose parameters or times the recorder needs.
 *
 * Always on: cuProfilerStart and Stop, stream captures, creation and destruction of contexts, the
 * end of cuInit; with MINIPROF_METRICS launches too. While something is recorded: the dozen driver
 * calls that make or await dependencies (api_set.c lists them), each of which becomes a row of
 * `sync`. These callbacks also see calls made through the runtime. They cost 150 ns at these calls
 * and nothing elsewhere; CUPTI's own kind SYNCHRONIZATION would cost 165 ns at every call of the
 * process.
 *
 * The callbacks run on the application's threads, inside their CUDA calls (process/lifecycle.h).
 */
#ifndef MP_RECORD_CUPTI_SUBSCRIBER_H
#define MP_RECORD_CUPTI_SUBSCRIBER_H

#include <cupti.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

/* ---- The other CUPTI client: its name for messages, and how it uses CUPTI ---- */

#define CLIENT_NAME_BYTES 256

/* How a client uses CUPTI. If several known clients are loaded, the largest value counts. */
enum client_habit {
    CLIENT_STAYS,  /* subscriber for good; registers its buffers anew in each of its sessions, so
                      between these CUPTI's activities are free */
    CLIENT_LEAVES, /* subscriber in its sessions only */
    CLIENT_UNKNOWN /* not known, or it records all the time */
};

struct client {
    char name[CLIENT_NAME_BYTES]; /* "torch.profiler ('/path/to.so')"; empty: none is known */
    enum client_habit habit;
    const char *version_1; /* how the user keeps it from CUPTI's version 2; NULL: not known */
};

/* Who the other client may be, guessed from the loaded libraries: a known one, or one that calls
 * CUPTI. Walks the loader's list, so only for messages. Any thread. */
void client_find(struct client *client);

/* ---- Launches that may overlap ----
 *
 * Kernel launches that may begin before their predecessor ends: programmatic dependent launch.
 *
 * CUPTI's records do not say it (CUDA 13.0), only the attributes of cuLaunchKernelEx do. So that
 * function has a callback, which notes the correlation ids of such launches; the writer looks them
 * up as their records come. A callback makes each call slower. It is switched off for good when
 * many calls have come and none had the attribute: most programs that call cuLaunchKernelEx (Triton
 * does for every kernel) have none.
 *
 * The ids are in a table by their low bits. Neither side waits: a newer launch takes the place of
 * one that is OVERLAPS_SLOTS ids older. Then the older one counts as a usual launch.
 */

#define OVERLAPS_SLOTS    65536u /* a power of two; 256 KiB, touched as it fills */
#define OVERLAPS_PATIENCE 10000u /* launches without the attribute, until the callback goes */

struct overlaps {
    _Atomic uint32_t ids[OVERLAPS_SLOTS];
    _Atomic uint32_t seen; /* launches, up to OVERLAPS_PATIENCE */
    _Atomic bool any;      /* some launch had the attribute */
    _Atomic bool kept;     /* NCCL's plugin needs the callback too */
};

/* ENTER of cuLaunchKernelEx. Application threads. */
void overlaps_launch(struct overlaps *overlaps, const CUpti_CallbackData *data);

/* From now on the callback is kept. Whether it was of no use until now (subscriber_keep_overlaps).
 * Any thread. */
bool overlaps_stay(struct overlaps *overlaps);

/* Whether the callback is of no use. */
static inline bool overlaps_given_up(const struct overlaps *overlaps)
{
    return !atomic_load(&overlaps->any) && !atomic_load(&overlaps->kept) &&
           atomic_load(&overlaps->seen) > OVERLAPS_PATIENCE;
}

/* Whether the launch with this correlation id had the attribute. Any thread. */
static inline bool overlaps_has(const struct overlaps *overlaps, uint32_t correlation)
{
    return overlaps && correlation &&
           atomic_load_explicit(&overlaps->ids[correlation % OVERLAPS_SLOTS],
                                memory_order_relaxed) == correlation;
}

/* ---- Callbacks ---- */

/* CUPTI_CB_DOMAIN_STATE and CUPTI_CBID_STATE_FATAL_ERROR: not in all headers. */
#define SUBSCRIBER_STATE       6
#define SUBSCRIBER_FATAL_ERROR 1

struct gpu;

/* Becomes CUPTI's subscriber, whose callbacks go to attach.calls. MP_ERR_UNSUPPORTED if another
 * client is the subscriber. *error has its name if that can be known, and *other when it has CUPTI:
 * CLIENT_STAYS only if CUPTI's activities may be used with it. */
enum mp_status subscriber_open(struct gpu *gpu, enum client_habit *other, struct mp_error *error);

/* No longer, where a step after subscriber_open has failed. */
void subscriber_close(struct gpu *gpu);

/* The callbacks that are always on. */
void subscriber_watch_base(struct gpu *gpu);

/* Nothing more is recorded: switches off the callbacks of launches and graphs. */
void subscriber_watch_ends(struct gpu *gpu);

/* The callbacks that make rows of `sync`, and rows of `call` where CUPTI's API records cannot
 * be used. */
void subscriber_watch_syncs(struct gpu *gpu, bool on);
void subscriber_watch_calls(struct gpu *gpu, bool on);

/* EXIT of cuLaunchKernelEx: switches its callback off, when it is of no use and makes
 * no rows of `call`. Application threads, in callbacks. */
void subscriber_overlap_leaves(struct gpu *gpu, CUpti_CallbackId cbid);

/* From now on that callback stays; if it has gone, it comes back. Any thread. */
void subscriber_keep_overlaps(struct gpu *gpu);

#endif
