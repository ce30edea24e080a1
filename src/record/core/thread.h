/* Threads of ours. */
#ifndef MP_RECORD_CORE_THREAD_H
#define MP_RECORD_CORE_THREAD_H

#include <pthread.h>
#include <signal.h>
#include <stddef.h>

#include "base/status.h"

/* Starts a detached thread in which all signals are blocked, so that the application's go to its
 * own threads. `stack_bytes`: 0 for the process's default. MP_ERR_MEMORY or MP_ERR_LIMIT when there
 * is none to have. Any thread. */
enum mp_status thread_start(pthread_t *thread, size_t stack_bytes, void *(*main)(void *argument),
                            void *argument);

/* Blocks all signals in this thread, for threads that are created now and for writes that may
 * exceed RLIMIT_FSIZE. thread_restore_signals takes back a SIGXFSZ of this thread that came in
 * between: it would kill the application for a file that is not its own. */
void thread_block_signals(sigset_t *before);
void thread_restore_signals(const sigset_t *before);

#endif
