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
#include <stdbool.h>

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

#endif
