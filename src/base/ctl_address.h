/* Where `miniprof ctl` finds the collector in a process: an abstract Unix socket (unix(7)).
 *
 * Nothing stays behind in a folder when the process is killed. Its name holds the process id and
 * the number of the pid namespace, since containers that share a network have the same ids. There
 * are no permissions on it: either side asks the kernel whom it talks to (SO_PEERCRED).
 *
 * A request is one packet with one word; the answer is one packet, "ok TEXT" or "no TEXT".
 */
#ifndef MP_BASE_CTL_ADDRESS_H
#define MP_BASE_CTL_ADDRESS_H

#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

#define MP_CTL_ANSWER_BYTES 5120 /* a path and some numbers */
#define MP_CTL_OK           "ok "
#define MP_CTL_NO           "no "

/* The address of this process id in the caller's pid namespace. Returns its length. */
socklen_t mp_ctl_address(struct sockaddr_un *address, pid_t pid);

#endif
