/* Threads of ours. */
#ifndef MP_RECORD_CORE_THREAD_H
#define MP_RECORD_CORE_THREAD_H

#include <pthread.h>
#include <stddef.h>

#include "base/status.h"

/* Starts a detached thread in which all signals are blocked, so that the application's go to its
 * own threads. `stack_bytes`: 0 for the process's default. MP_ERR_MEMORY or MP_ERR_LIMIT when there
 * is none to have. Any thread. */
enum mp_status thread_start(pthread_t *thread, size_t stack_bytes, void *(*main)(void *argument),
                            void *argument);

#endif
