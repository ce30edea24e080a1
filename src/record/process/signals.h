/* SIGINT and SIGTERM, if the application leaves them at their default. The file is completed first;
 * then the process dies of the signal as it would have without us.
 *
 * The handler only notes the signal and wakes the writer, which finishes the recording and raises
 * the signal again. The interrupted thread runs on meanwhile, so it blocks nothing that the last
 * flush needs. If that thread reaches exit() first, the exit handler raises the signal instead.
 *
 * A second signal kills at once, unless it follows within half a second: then it is the same
 * request sent twice.
 */
#ifndef MP_RECORD_PROCESS_SIGNALS_H
#define MP_RECORD_PROCESS_SIGNALS_H

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Installs the handler for SIGINT and SIGTERM, for each whose disposition is the default. With
 * `usr2` (the same request as a word of `miniprof ctl`) also installs one for SIGUSR2, which counts
 * the signals in recorder->ranges.toggles. */
void signals_open(const char *usr2);

/* Restores the default where our handler still stands: for a forked child. */
void signals_reset(void);

/* Whether the calling thread seems to run one of the program's signal handlers: it is on the
 * alternate stack, or it blocks a signal that has a handler. Also true in a thread that simply
 * blocks such a signal. */
bool signals_in_handler(void);

/* Ends the process by `number`'s default action. Returns only if the application blocks that. */
void signals_raise(int number);

/* ---- Crashes ----
 *
 * SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT with the flight recorder, if the program leaves them
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
