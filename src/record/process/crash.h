/* SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT with the flight recorder, if the program leaves them
 * at their default. The trace is written first. Then the signal happens again without our handler,
 * so exit status and core are the program's own.
 *
 *     thread that crashes             writer
 *     ASKED, wakes the writer
 *     waits, 3 s at most -----------> WRITING: flush by the flusher, 1 s at most; the file
 *     default action <--------------- DONE
 *
 * The handler takes no lock, allocates nothing, and runs on the thread's alternate stack, if it has
 * one. Without one, a stack overflow kills at once, as it does without us. The handler does not
 * wait on the writer's own thread, in a forked child, or when the recording is over.
 *
 * What the crashed thread holds (malloc's lock, CUPTI's) may block the writer. Then the 3 s pass,
 * and the process dies without a file. Threads that crash while the first one waits let that one
 * end the process: the exit status tells its signal.
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

/* Restores the default where our handlers still stand: for a forked child. */
void crash_reset(void);

/* Writes the file if a thread has crashed. The writer only. */
void crash_serve(struct recorder *recorder);

#endif
