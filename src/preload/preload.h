/* The parts of libminiprof_preload.so: what the program calls, in machine code (stubs.c, dlsym.c),
 * the slots behind the stubs (slots.c), and what is answered to who asks for a function by its name
 * (preload.c).
 */
#ifndef MP_PRELOAD_PRELOAD_H
#define MP_PRELOAD_PRELOAD_H

#include "base/preload.h"

/* Functions of the driver that are stood in front of where a program is linked to them, in the
 * order of their slots. X(NAME, CALL) */
#define PRELOAD_LINKED(X)                                                                          \
    X(cuProfilerStart, MP_PRELOAD_PROFILER)                                                        \
    X(cuStreamBeginCapture, MP_PRELOAD_GRAPH)                                                      \
    X(cuStreamBeginCapture_ptsz, MP_PRELOAD_GRAPH)                                                 \
    X(cuStreamBeginCapture_v2, MP_PRELOAD_GRAPH)                                                   \
    X(cuStreamBeginCapture_v2_ptsz, MP_PRELOAD_GRAPH)                                              \
    X(cuStreamBeginCaptureToGraph, MP_PRELOAD_GRAPH)                                               \
    X(cuStreamBeginCaptureToGraph_ptsz, MP_PRELOAD_GRAPH)                                          \
    X(cuGraphCreate, MP_PRELOAD_GRAPH)

#define PRELOAD_LINKED_COUNT 8
#define PRELOAD_SLOTS        32 /* the others are given to functions that are asked for by name */
#define PRELOAD_SLOTS_TEXT   "32"

/* ---- stubs.c ---- */

/* What the program calls in place of the function in this slot. */
void *preload_stub(unsigned slot);

/* ---- slots.c ---- */

/* Before a call of the function in `slot`; the address to go on to, never NULL. */
void *preload_enter(unsigned long slot);

/* The real dlsym, from the first preload_lookup on. */
extern void *(*preload_real_dlsym)(void *handle, const char *name);

/* Finds it. */
void preload_find_dlsym(void);

/* The function of that name that a program would have got without this library. */
void *preload_find_next(const char *name);

/* The row of a function that is stood in front of, and what its call means; -1: none of them. */
int preload_find_watched(const char *name);
enum mp_preload_call preload_call_of(int row);

/* The slot whose stub goes on to `real`, taken if there is none; -1: all are taken. */
int preload_take_slot(void *real, enum mp_preload_call call);

/* ---- preload.c ---- */

/* The answer to dlsym(handle, name); NULL: the real one is to answer, with the caller's return
 * address, by which it tells who asks (RTLD_NEXT). */
void *preload_lookup(void *handle, const char *name);

#endif
