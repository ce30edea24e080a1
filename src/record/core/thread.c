/* Creates the recorder's threads with all signals blocked. A handler of the application must not
 * run on one of them: the application does not know these threads.
 */
#include "record/core/thread.h"

#include <errno.h>
#include <sys/mman.h>
#include <time.h>

#include "base/poison.h"

void thread_block_signals(sigset_t *before)
{
    sigset_t all;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, before);
}

void thread_restore_signals(const sigset_t *before)
{
    const struct timespec at_once = {0};
    sigset_t size;

    if (!sigismember(before, SIGXFSZ)) {
        sigemptyset(&size);
        sigaddset(&size, SIGXFSZ);
        while (sigtimedwait(&size, NULL, &at_once) == SIGXFSZ)
            continue;
    }
    pthread_sigmask(SIG_SETMASK, before, NULL);
}

/* What a thread begins with. It lies in a room of ROOM_BYTES, which the thread gives back first of
 * all. So there is memory for the thread-local data of libraries, without which glibc ends the
 * process. */
struct start {
    void *(*main)(void *argument);
    void *argument;
};

#define ROOM_BYTES ((size_t)256 << 10)

static void *begin(void *room)
{
    struct start start = *(struct start *)room;

    munmap(room, ROOM_BYTES);
    return start.main(start.argument);
}

static int create(pthread_t *thread, const pthread_attr_t *attributes, struct start start)
{
    struct start *room = mmap(NULL, ROOM_BYTES, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    int error;

    if (room == MAP_FAILED)
        return ENOMEM;
    *room = start;
    error = pthread_create(thread, attributes, begin, room);
    if (error)
        munmap(room, ROOM_BYTES);
    return error;
}

enum mp_status thread_start(pthread_t *thread, size_t stack_bytes, void *(*main)(void *argument),
                            void *argument)
{
    pthread_attr_t attributes;
    sigset_t before;
    int error;

    if (pthread_attr_init(&attributes) != 0)
        return MP_ERR_MEMORY;
    if (stack_bytes)
        pthread_attr_setstacksize(&attributes, stack_bytes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    thread_block_signals(&before);
    error = create(thread, &attributes, (struct start){main, argument});
    thread_restore_signals(&before);
    pthread_attr_destroy(&attributes);
    return error ? MP_ERR_LIMIT : MP_OK;
}
