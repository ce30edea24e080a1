/* Where `miniprof ctl` finds the recorder in a process: an abstract Unix socket (unix(7)).
 *
 * An abstract socket leaves no file behind when the process is killed. Its name holds the process
 * id and the number of the pid namespace, because containers that share a network can have the same
 * process ids. The socket has no permissions: each side asks the kernel who the other one is
 * (SO_PEERCRED).
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
