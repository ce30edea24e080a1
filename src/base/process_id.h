/* The ids of this process and thread, also where a sandbox denies getpid and gettid. */
#ifndef MP_BASE_PROCESS_ID_H
#define MP_BASE_PROCESS_ID_H

#include <sys/types.h>

/* As getpid. A seccomp filter may have that fail; then /proc/self says. -1 if neither does. Keeps
 * errno. Any thread, also in a signal handler. */
pid_t mp_process_id(void);

/* As gettid. A seccomp filter may have that fail; then the C library says, which has it in the
 * clock of the thread's CPU time. 0 if neither does. Keeps errno. Any thread, also in a signal
 * handler. */
pid_t mp_thread_id(void);

#endif
