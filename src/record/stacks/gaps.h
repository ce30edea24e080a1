/* Host code in long gaps between CUDA calls: samples of the threads that make CUDA calls.
 *
 * Each such thread has a timer on its own CPU clock, which sends it a signal
 * (MINIPROF_STACKS_GAPS). A thread that sleeps is never woken. If the thread was in no CUDA call
 * since the timer went off before, the handler takes its Python stack, and whether it holds the
 * GIL.
 *
 *     calls     |x|  |x|                              |x|
 *     timer   ^        ^        ^        ^        ^        ^
 *                               s        s        s             three samples
 *
 * The handler may come anywhere: in malloc, in the driver, while a frame is made. So it allocates
 * nothing, takes no lock, and reads Python's memory only by the kernel's copy
 * (stacks/python.h). What it has read waits in a ring of the thread for the writer. A walk
 * that meets half a frame gives no stack.
 *
 * The kernel looks at such timers in its tick, which is 1 to 10 ms. So samples are at least as far
 * apart, and each says how much CPU time it stands for.
 *
 * The signal is a real-time one that has its default action and is not blocked when the first timer
 * is made. What others send by that number does what it would do without us. If the program takes
 * the signal for itself later, sampling ends.
 */
#ifndef MP_RECORD_STACKS_GAPS_H
#define MP_RECORD_STACKS_GAPS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/preload.h"
#include "record/stacks/python_walk.h"

#define GAP_THREADS 64u  /* that can be sampled at a time */
#define GAP_SAMPLES 128u /* of a thread, before the writer takes them: half a second and less */
#define GAP_DEPTH   128u /* frames of a sample, the innermost */

struct gap_thread;
struct core;
struct stacks;

enum gap_gil { GAP_GIL_UNKNOWN, GAP_GIL_FREE, GAP_GIL_HELD };

struct gap_sample {
    uint64_t time;
    uint64_t computing; /* CPU time since the timer went off before, all of it in one gap; ns */
    uint32_t tid;
    uint32_t gil;
    uint32_t count; /* 0: no Python stack */
    uint64_t places[GAP_DEPTH + 1];
};

struct gaps {
    uint64_t period; /* ns; 0: not wanted */
    _Atomic int signal;
    _Atomic bool off; /* there is nothing to sample with, or no longer */
    pthread_key_t key;
    struct code_arena arena;
    _Atomic(struct gap_thread *) threads[GAP_THREADS]; /* never freed, since signals may be late */
    _Atomic uint64_t lost;                             /* samples for which there was no room */
};

/* In InitializeInjection. */
void gaps_open(struct stacks *stacks, struct core *core);

/* The thread enters or leaves a call that has a stack, within a range. */
void gaps_call(struct stacks *stacks, struct core *core, bool enters);

/* The calling thread has waited. If it is sampled and has waited for a period or more, the thread
 * that woke it is sampled too, until nobody has waited for it for a while: it may have held the
 * GIL. Async-signal-safe. */
void gaps_waited(struct stacks *stacks, struct core *core, const struct mp_preload_wait *wait);

/* Hands every sample to `use`. The writer only. */
typedef void gaps_use(void *context, const struct gap_sample *sample);
void gaps_drain(struct stacks *stacks, struct core *core, gaps_use *use, void *context);

/* The recording ends: no more signals. */
void gaps_stop(struct stacks *stacks);

/* In a forked child, which has none of the timers: the signal is nobody's again. */
void gaps_reset(struct stacks *stacks);

/* The thread's timer has gone off: what the handler does, at `now` of the thread's CPU clock. For
 * tests; async-signal-safe. */
void gaps_tick(struct stacks *stacks, struct core *core, struct gap_thread *thread, uint64_t now);

/* Takes a sample into the ring, as the handler does. For tests; async-signal-safe. */
void gaps_take(struct stacks *stacks, struct gap_thread *thread, uint64_t computing);

/* ---- Inside of gaps: what a sampled thread has ---- */

struct gap_thread {
    _Atomic uint32_t tid; /* 0: it is nobody's now */
    /* The thread's own. Its handler comes between two of its instructions. */
    _Atomic uint32_t calls; /* entered and left */
    _Atomic bool inside;    /* of a call */
    _Atomic bool armed;     /* the timer runs */
    _Atomic bool watched;   /* it calls no CUDA: a thread that does has waited for it */
    _Atomic uint32_t alone; /* ticks since it was last waited for */
    uint32_t seen;          /* calls when the timer went off before */
    uint32_t idle;          /* how often it has gone off outside of ranges */
    uint64_t computed;      /* CPU time then, ns */
    uint64_t object;        /* that it waits for, in several waits; 0: none */
    uint64_t since;         /* the begin of the first of these */
    struct walk walk;
    /* Shared. */
    _Atomic int timer;     /* the kernel's number of it + 1; who takes it out deletes it */
    _Atomic uint32_t head; /* samples ever put; by the handler */
    _Atomic uint32_t tail; /* taken; by the writer */
    struct gap_sample samples[GAP_SAMPLES];
};

#endif
