/* NVTX ranges of one name that the recorder acts upon: MINIPROF_CAPTURE=nvtx:NAME, MINIPROF_STEP of
 * a schedule or of slow steps.
 *
 * If a name is watched, NVTX's tables get functions that look at the name first and then call those
 * of calls.c, whether recording is on or off. If none is watched, the tables stay as they are, so
 * watching costs nothing where nobody asks for it.
 *
 * Ranges of the name may be nested and may overlap on several threads. `begin` is called before
 * each of them reaches the trace, `end` after the last one has. When a thread ends, the ranges that
 * it has pushed and not popped end too. Ranges of the payload extension are not watched.
 */
#ifndef MP_RECORD_NVTX_WATCH_H
#define MP_RECORD_NVTX_WATCH_H

#include "record/nvtx/state.h"

#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExt.h>

struct nvtx_watch_calls {
    /* NAME[@DOMAIN], which must stay valid. NULL: each outermost push of a thread in the default
     * domain, whatever its name. */
    const char *name;
    void (*begin)(void *context);
    void (*end)(void *context);
    /* A single range of the name has ended, whatever the others do. Times are the trace's. */
    void (*lasted)(void *context, uint64_t since, uint64_t until);
    void *context;
};

/* Starts watching. `begin`, `end` and `lasted` may be NULL. Once, before NVTX is initialised. */
void nvtx_watch_open(const struct nvtx_watch_calls *calls) NVTX_HIDDEN;

/* Whether a name was given, also if it is no longer watched. */
bool nvtx_watch_is_wanted(void) NVTX_HIDDEN;

/* Stops watching. Any thread. */
void nvtx_watch_close(void) NVTX_HIDDEN;

/* In a forked child that may record: of the ranges that were open at the fork, only those that its
 * one thread has pushed stay open. */
void nvtx_watch_child_after_fork(void) NVTX_HIDDEN;

/* The name of the range that begins or ends, in `begin` and `lasted`. */
const char *nvtx_watch_heard(void) NVTX_HIDDEN;

/* Whether a range of the name is open. Any thread. */
bool nvtx_watch_is_inside(void) NVTX_HIDDEN;

/* The watching function for one entry of NVTX's tables, by NVTX's numbers; NULL where the function
 * of calls.h is enough. */
NvtxFunctionPointer nvtx_watch_find(uint32_t module, uint32_t id) NVTX_HIDDEN;

#endif
