/* The id of this process, also where a sandbox denies getpid. */
#ifndef MP_BASE_PROCESS_ID_H
#define MP_BASE_PROCESS_ID_H

#include <sys/types.h>

/* As getpid. A seccomp filter may have that fail; then /proc/self says. -1 if neither does. Keeps
 * errno. Any thread, also in a signal handler. */
pid_t mp_process_id(void);

#endif
