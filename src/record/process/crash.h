/* SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT with the flight recorder, where the program leaves
 * them to their default: the trace is written first, and the signal then happens again as if nobody
 * had been there, so that exit status and core are the program's own.
 *
 *     thread that crashes             writer
 *     ASKED, wakes the writer
 *     waits, 3 s at most -----------> WRITING: flush by the flusher, 1 s at most; the file
 *     default action <--------------- DONE
 *
 * The handler takes no lock, allocates nothing, and runs on the alternate stack where the thread
 * has one; without one an overflown stack kills at once, as ever. It does not wait on the writer's
 * own thread, in a forked child, or when the recording is over. What the crashed thread holds
 * (malloc's lock, CUPTI's) may keep the writer from its work: then the time is over and the process
 * dies without a file. Threads that crash while the first one waits let that one end the process:
 * it is its signal that the exit status tells.
 */
#ifndef MP_RECORD_PROCESS_CRASH_H
#define MP_RECORD_PROCESS_CRASH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct recorder;

enum crash_state { CRASH_NONE, CRASH_ASKED, CRASH_WRITING, CRASH_DONE };

struct crash {
    _Atomic uint32_t state; /* a futex */
    _Atomic int number;     /* the signal, set before ASKED */
};

/* Installs the handlers. */
void crash_open(void);

/* Puts the default back where the handlers still stand: for a forked child. */
void crash_reset(void);

/* Writes the file if a thread has crashed. The writer only. */
void crash_serve(struct recorder *recorder);

#endif
