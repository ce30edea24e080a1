/* See thread.h. */
#include "record/core/thread.h"

#include <signal.h>

#include "record/process/signals.h"

#include "base/poison.h"

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
    signals_block(&before);
    error = pthread_create(thread, &attributes, main, argument);
    signals_restore(&before);
    pthread_attr_destroy(&attributes);
    return error ? MP_ERR_LIMIT : MP_OK;
}
