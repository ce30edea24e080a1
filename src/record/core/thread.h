/* Threads of ours, how to tell them from the program's, and what the kernel tells of these. */
#ifndef MP_RECORD_CORE_THREAD_H
#define MP_RECORD_CORE_THREAD_H

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/status.h"

/* The ids of our threads; 0: a free place. Each thread enters itself and leaves again. Any thread
 * reads. A thread that finds no place counts as one of the program's. */
#define THREADS_OURS 8

struct own_threads {
    _Atomic pid_t ids[THREADS_OURS];
};

/* Starts a detached thread, which enters itself in `own`. All signals are blocked in it, so the
 * application's signals go to the application's threads. `stack_bytes`: 0 for the process's
 * default. MP_ERR_MEMORY or MP_ERR_LIMIT when no thread can be made. Any thread. */
enum mp_status thread_start(struct own_threads *own, pthread_t *thread, size_t stack_bytes,
                            void *(*run)(void *argument), void *argument);

/* Whether the thread of that id waits for a lock or another thread, as far as /proc tells. Any
 * thread. */
bool thread_waits(pid_t tid);

/* Whether main's thread has ended and no other thread of the process is left but those in `own`:
 * then glibc would have ended the process, if it did not count ours. False without /proc. Opens no
 * file while main's thread is there. Any thread. */
bool threads_are_alone(const struct own_threads *own);

/* Blocks all signals in this thread: before it creates a thread, and before a write that may exceed
 * RLIMIT_FSIZE. thread_restore_signals also discards a SIGXFSZ that such a write raised: the signal
 * would kill the application for a file that is not its own. */
void thread_block_signals(sigset_t *before);
void thread_restore_signals(const sigset_t *before);

/* Reads /proc/self/task/TID/`file` of a thread of this process into `text`, which ends with a zero,
 * and returns its length; -1 with errno, as ENOENT for a thread that has ended. By system calls:
 * the preloaded library looks at read. Any thread, also in a signal handler. */
ssize_t thread_proc_read(uint32_t tid, const char *file, char *text, size_t size);

#endif
