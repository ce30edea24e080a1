/* Threads of ours. */
#ifndef MP_RECORD_CORE_THREAD_H
#define MP_RECORD_CORE_THREAD_H

#include <pthread.h>
#include <signal.h>
#include <stddef.h>

#include "base/status.h"

/* Starts a detached thread. All signals are blocked in it, so the application's signals go to the
 * application's threads. `stack_bytes`: 0 for the process's default. MP_ERR_MEMORY or MP_ERR_LIMIT
 * when no thread can be made. Any thread. */
enum mp_status thread_start(pthread_t *thread, size_t stack_bytes, void *(*main)(void *argument),
                            void *argument);

/* Blocks all signals in this thread: before it creates a thread, and before a write that may exceed
 * RLIMIT_FSIZE. thread_restore_signals also discards a SIGXFSZ that such a write raised: the signal
 * would kill the application for a file that is not its own. */
void thread_block_signals(sigset_t *before);
void thread_restore_signals(const sigset_t *before);

#endif
