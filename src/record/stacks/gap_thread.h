/* Inside of gaps: what a sampled thread has. */
#ifndef MP_RECORD_STACKS_GAP_THREAD_H
#define MP_RECORD_STACKS_GAP_THREAD_H

#include "record/stacks/gaps.h"
#include "record/stacks/python_walk.h"

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
