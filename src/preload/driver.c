/* Functions of the CUDA driver, as the program would find them. */
#include <dlfcn.h>
#include <stddef.h>

#include "preload/next.h"

#include "base/poison.h"

/* In the driver that is loaded, wherever it is. */
void *preload_find_in_driver(const char *name)
{
    void *driver = LIBC(dlopen)("libcuda.so.1", RTLD_NOLOAD | RTLD_LAZY);

    if (!driver)
        return NULL;
    void *found = LIBC(dlsym)(driver, name);
    LIBC(dlclose)(driver);
    return found;
}

/* The function that a linked program would get without this library. RTLD_NEXT knows the global
 * scope alone. A plug-in that is linked to the driver may have brought it into a scope of its own.
 */
void *preload_find_next(const char *name)
{
    void *found = LIBC(dlsym)(RTLD_NEXT, name);

    return found ? found : preload_find_in_driver(name);
}
