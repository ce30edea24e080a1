/* Creates the recorder's threads with all signals blocked. A handler of the application must not
 * run on one of them: the application does not know these threads.
 */
#include "record/core/thread.h"

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
    error = pthread_create(thread, &attributes, main, argument);
    thread_restore_signals(&before);
    pthread_attr_destroy(&attributes);
    return error ? MP_ERR_LIMIT : MP_OK;
}
