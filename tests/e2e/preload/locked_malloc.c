/* malloc as allocators that are preloaded do it: with a lock, and with dlsym at the first call,
 * which may call malloc in turn.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>

extern void *__libc_malloc(size_t bytes);
extern void __libc_free(void *data);

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static void (*found)(void);
static int inside;

void *malloc(size_t bytes)
{
    void *data;

    pthread_mutex_lock(&mutex);
    if (!found && !inside) {
        inside = 1;
        pthread_mutex_unlock(&mutex);
        *(void **)&found = dlsym(RTLD_NEXT, "malloc");
        pthread_mutex_lock(&mutex);
    }
    data = __libc_malloc(bytes);
    pthread_mutex_unlock(&mutex);
    return data;
}

void free(void *data)
{
    pthread_mutex_lock(&mutex);
    __libc_free(data);
    pthread_mutex_unlock(&mutex);
}
