/* next_malloc.c: finds the next malloc with RTLD_NEXT, as interposers do, and says whether it is
 * libc's: RTLD_NEXT goes by the caller's return address, which a dlsym in between must keep. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

void next_malloc_tell(void);

void next_malloc_tell(void)
{
    Dl_info info;
    void *mine = dlsym(RTLD_NEXT, "malloc");
    void *own = dlsym(RTLD_NEXT, "next_malloc_tell");

    printf("%s %s\n", mine && dladdr(mine, &info) ? "malloc is there" : "no malloc",
           own ? "found itself" : "nothing after itself");
}
