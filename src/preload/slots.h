/* The parts of libminiprof_preload.so: the stubs that the program calls, in machine code (stubs.c,
 * dlsym.c), the slots behind the stubs (slots.c), the answers to lookups of a function by name
 * (preload.c), and the calls that give host functions to the driver (host_calls.h).
 */
#ifndef MP_PRELOAD_SLOTS_H
#define MP_PRELOAD_SLOTS_H

#include <stdbool.h>
#include <string.h>

#include "base/preload.h"

/* Functions of the driver that this library also exports, for programs that are linked to the
 * driver, in the order of their slots. X(NAME, CALL) */
#define PRELOAD_LINKED(X)                                                                          \
    X(cuProfilerStart, MP_PRELOAD_PROFILER)                                                        \
    X(cuProfilerStop, MP_PRELOAD_STOP)                                                             \
    X(cuStreamBeginCapture, MP_PRELOAD_CAPTURE)                                                    \
    X(cuStreamBeginCapture_ptsz, MP_PRELOAD_CAPTURE)                                               \
    X(cuStreamBeginCapture_v2, MP_PRELOAD_CAPTURE)                                                 \
    X(cuStreamBeginCapture_v2_ptsz, MP_PRELOAD_CAPTURE)                                            \
    X(cuStreamBeginCaptureToGraph, MP_PRELOAD_CAPTURE)                                             \
    X(cuStreamBeginCaptureToGraph_ptsz, MP_PRELOAD_CAPTURE)                                        \
    X(cuStreamEndCapture, MP_PRELOAD_CAPTURED)                                                     \
    X(cuStreamEndCapture_ptsz, MP_PRELOAD_CAPTURED)                                                \
    X(cuGraphCreate, MP_PRELOAD_GRAPH)                                                             \
    X(cuGraphLaunch, MP_PRELOAD_GRAPH_LAUNCH)                                                      \
    X(cuGraphLaunch_ptsz, MP_PRELOAD_GRAPH_LAUNCH)                                                 \
    X(cuLaunchKernel, MP_PRELOAD_LAUNCH)                                                           \
    X(cuLaunchKernel_ptsz, MP_PRELOAD_LAUNCH)                                                      \
    X(cuLaunchKernelEx, MP_PRELOAD_LAUNCH)                                                         \
    X(cuLaunchKernelEx_ptsz, MP_PRELOAD_LAUNCH)                                                    \
    X(cuLaunchCooperativeKernel, MP_PRELOAD_LAUNCH)                                                \
    X(cuLaunchCooperativeKernel_ptsz, MP_PRELOAD_LAUNCH)                                           \
    X(cuMemcpyAsync, MP_PRELOAD_LAUNCH)                                                            \
    X(cuMemcpyAsync_ptsz, MP_PRELOAD_LAUNCH)                                                       \
    X(cuMemcpyHtoDAsync_v2, MP_PRELOAD_LAUNCH)                                                     \
    X(cuMemcpyHtoDAsync_v2_ptsz, MP_PRELOAD_LAUNCH)                                                \
    X(cuMemcpyDtoHAsync_v2, MP_PRELOAD_LAUNCH)                                                     \
    X(cuMemcpyDtoHAsync_v2_ptsz, MP_PRELOAD_LAUNCH)                                                \
    X(cuMemcpyDtoDAsync_v2, MP_PRELOAD_LAUNCH)                                                     \
    X(cuMemcpyDtoDAsync_v2_ptsz, MP_PRELOAD_LAUNCH)                                                \
    X(cuMemsetD8Async, MP_PRELOAD_LAUNCH)                                                          \
    X(cuMemsetD8Async_ptsz, MP_PRELOAD_LAUNCH)                                                     \
    X(cuMemsetD32Async, MP_PRELOAD_LAUNCH)                                                         \
    X(cuMemsetD32Async_ptsz, MP_PRELOAD_LAUNCH)

#define PRELOAD_LINKED_COUNT 31
#define PRELOAD_SLOTS        96 /* the others are for functions looked up by name */
#define PRELOAD_SLOTS_TEXT   "96"

/* ---- stubs.c ---- */

/* What the program calls instead of the function in this slot. */
void *preload_stub(unsigned slot);

/* ---- slots.c ---- */

/* Runs before a call of the function in `slot`. Answers the address to jump to, never NULL. */
void *preload_enter(unsigned long slot);

/* Whether a program that asks for `name` may get this function: cuGetProcAddress answers with a _v2
 * for the name without it. */
static inline bool preload_is_named(const char *function, const char *name)
{
    size_t length = strlen(name);

    return strncmp(function, name, length) == 0 &&
           (!function[length] || strcmp(function + length, "_v2") == 0);
}

/* preload_find_watched: the row of a watched function; -1 if it is not watched. preload_call_of:
 * what a call of that function means. */
int preload_find_watched(const char *name);
enum mp_preload_call preload_call_of(int row);

/* The slot whose stub jumps to `real`; a new one if there is none, -1 if all are taken. */
int preload_take_slot(void *real, enum mp_preload_call call);

/* ---- preload.c ---- */

/* The dlsym behind ours, for dlsym.c, from the first preload_lookup on. */
extern void *_Atomic preload_real_dlsym;

/* The answer to dlsym(handle, name). NULL: the real dlsym must answer, and see the caller's return
 * address, by which RTLD_NEXT knows who asks. PRELOAD_NOT_THERE: the answer is NULL. */
#define PRELOAD_NOT_THERE ((void *)-1)
void *preload_lookup(void *handle, const char *name);

#endif
