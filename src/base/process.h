/* The process that we run in: its ids, also where a sandbox denies getpid and gettid, and the
 * socket by which `miniprof ctl` reaches the recorder in it.
 */
#ifndef MP_BASE_PROCESS_H
#define MP_BASE_PROCESS_H

#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

/* ---- Ids ---- */

/* As getpid. A seccomp filter may have that fail; then /proc/self says. -1 if neither does. Keeps
 * errno. Any thread, also in a signal handler. */
pid_t mp_process_id(void);

/* As gettid. A seccomp filter may have that fail; then the C library says, which has it in the
 * clock of the thread's CPU time. 0 if neither does. Keeps errno. Any thread, also in a signal
 * handler. */
pid_t mp_thread_id(void);

/* ---- Where `miniprof ctl` finds a process ----
 *
 * An abstract Unix socket (unix(7)), which leaves no file when the process is killed. Its
 * name holds the process id and the number of the pid namespace, because containers that share a
 * network can have the same process ids. The socket has no permissions: each side asks the kernel
 * who the other one is (SO_PEERCRED).
 *
 * A request is one packet with one word; the answer is one packet, "ok TEXT" or "no TEXT".
 */

#define MP_CTL_ANSWER_BYTES 5120 /* a path and some numbers */
#define MP_CTL_OK           "ok "
#define MP_CTL_NO           "no "

/* The address of this process id in the caller's pid namespace. Returns its length. */
socklen_t mp_ctl_address(struct sockaddr_un *address, pid_t pid);

#endif
