/* The two halves of libminiprof_preload.so: the machine code that the program calls (stubs.c) and
 * what it asks (preload.c). */
#ifndef MP_PRELOAD_PRELOAD_H
#define MP_PRELOAD_PRELOAD_H

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

/* ---- preload.c, for the stubs ---- */

/* Before a call of the function in `slot`; the address to go on to, never NULL. */
void *preload_enter(unsigned long slot);

/* The answer to dlsym(handle, name); NULL: the real one is to answer, with the caller's return
 * address, by which it tells who asks (RTLD_NEXT). */
void *preload_lookup(void *handle, const char *name);

/* The real dlsym, from the first preload_lookup on. */
extern void *(*preload_real_dlsym)(void *handle, const char *name);

#endif
