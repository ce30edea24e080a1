/* NVTX ranges of one name that the recorder acts upon: MINIPROF_CAPTURE=nvtx:NAME, MINIPROF_STEP
 * of a schedule or of slow steps.
 *
 * When a name is watched, NVTX's tables get functions that look at the name first and then call
 * those of calls.c, whether recording is on or off. Without one the tables are as ever, so
 * watching costs nothing where it is not asked for.
 *
 * Ranges of the name may be nested and overlap on several threads: `begin` is called before each
 * of them reaches the trace, `end` after the last has. Ranges that a thread has pushed and
 * not popped end with it. Ranges of the payload extension are not looked at.
 */
#ifndef MP_RECORD_NVTX_WATCH_H
#define MP_RECORD_NVTX_WATCH_H

#include "record/nvtx/state.h"

#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExt.h>

struct recorder;

struct nvtx_watch_calls {
    const char *name; /* NAME[@DOMAIN]; must stay valid */
    void (*begin)(struct recorder *);
    void (*end)(struct recorder *);
    /* Each single range of the name has ended, whatever others do; times are the trace's. */
    void (*lasted)(struct recorder *, uint64_t since, uint64_t until);
    struct recorder *recorder;
};

/* Watches; calls that are NULL are not made. Once, before NVTX is initialised. */
void nvtx_watch_open(const struct nvtx_watch_calls *calls) NVTX_HIDDEN;

/* Whether a name was given, still looked at or not. */
bool nvtx_watch_is_wanted(void) NVTX_HIDDEN;

/* Looks at names no more. Any thread. */
void nvtx_watch_close(void) NVTX_HIDDEN;

/* In a forked child that may record: of the ranges that were open at the fork only those that its
 * one thread has pushed are open. */
void nvtx_watch_child_after_fork(void) NVTX_HIDDEN;

/* Whether a range of the name is open. Any thread. */
bool nvtx_watch_is_inside(void) NVTX_HIDDEN;

/* The function for a slot of NVTX's tables that is to be watched, by NVTX's numbers; NULL where
 * that of calls.h does. */
NvtxFunctionPointer nvtx_watch_find(uint32_t module, uint32_t id) NVTX_HIDDEN;

#endif
