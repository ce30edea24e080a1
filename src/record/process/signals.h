/* SIGINT and SIGTERM, where the application leaves them to their default: the file is completed
 * first, and the process then dies of the signal as it would have without us.
 *
 * The handler only notes the signal and wakes the writer, which finishes and raises it again. The
 * interrupted thread runs on meanwhile, so that nothing that the last flush needs is blocked; if it
 * reaches exit() first, the exit handler raises the signal instead. A second signal
 * kills at once, unless it follows within half a second: then it is the same request sent twice.
 */
#ifndef MP_RECORD_PROCESS_SIGNALS_H
#define MP_RECORD_PROCESS_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

/* Installs the handler for those of the two signals whose disposition is the default; with
 * `usr2`, what `miniprof ctl` calls the same, also one for SIGUSR2, which counts them in
 * recorder->ranges.toggles. */
void signals_open(const char *usr2);

/* Puts the default back where the handler still stands: for a forked child. */
void signals_reset(void);

/* The collector's threads block all signals, so that none of the program's reaches them. Where one
 * that asks the process to end is pending and no thread is left but the caller and `other`, as
 * after pthread_exit in main, the calling thread takes such signals from now on. */
void signals_take_last(pid_t other);

/* Ends the process by `number`'s default action. Returns only if the application blocks that. */
void signals_raise(int number);

#endif
