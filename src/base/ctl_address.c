/* Composes the name of the abstract socket through which `miniprof ctl` talks to a process. The
 * name holds the pid namespace as well: two containers on one network may have the same process
 * id.
 */
#include "base/ctl_address.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/poison.h"

socklen_t mp_ctl_address(struct sockaddr_un *address, pid_t pid)
{
    struct stat namespace;
    unsigned long number = 0;
    int length;

    if (stat("/proc/self/ns/pid", &namespace) == 0)
        number = (unsigned long)namespace.st_ino;
    memset(address, 0, sizeof(*address));
    address->sun_family = AF_UNIX;
    /* The name starts after a first byte of 0, which makes the address abstract. */
    length = snprintf(address->sun_path + 1, sizeof(address->sun_path) - 1, "miniprof/%lu/%d",
                      number, (int)pid);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}
