/* Asks libminiprof_preload.so for waits, as the recorder does, in programs without CUDA. At exit it
 * appends one line to $ASKED: how many waits were told, and how many of them with a waker.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../../../src/base/preload.h"

static _Atomic unsigned waits, wakers;

static void count(const struct mp_preload_wait *wait)
{
    waits++;
    wakers += wait->waker != 0;
}

__attribute__((constructor)) static void ask(void)
{
    struct mp_preload *preload = dlsym(RTLD_DEFAULT, MP_PRELOAD_SYMBOL);

    if (preload && preload->version == MP_PRELOAD_VERSION)
        atomic_store(&preload->waited, count);
}

__attribute__((destructor)) static void tell(void)
{
    const char *path = getenv("ASKED");
    int file = path ? open(path, O_WRONLY | O_CREAT | O_APPEND, 0600) : -1;

    if (file < 0)
        return;
    dprintf(file, "%u %u\n", waits, wakers);
    close(file);
}
