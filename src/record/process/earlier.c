/* One event, from the begin of a range to the first end at which it is complete. */
#include "record/process/range.h"

#include "record/core/clock.h"
#include "record/cupti/contexts.h"
#include "record/process/recorder.h"

#include "base/poison.h"

/* If the context was destroyed meanwhile, its event was too. */
static void keep(struct earlier_work *earlier, CUcontext context, CUevent event)
{
    pthread_mutex_lock(&earlier->lock);
    if (!earlier->forgotten || context != earlier->context) {
        earlier->context = context;
        earlier->event = event;
    }
    pthread_mutex_unlock(&earlier->lock);
}

/* The event that is there, which the caller then has alone. */
static CUevent take(struct earlier_work *earlier, CUcontext *context)
{
    pthread_mutex_lock(&earlier->lock);
    *context = earlier->context;
    CUevent event = earlier->event;
    earlier->event = NULL;
    earlier->forgotten = false;
    pthread_mutex_unlock(&earlier->lock);
    return event;
}

void earlier_begin(struct recorder *recorder)
{
    struct earlier_work *earlier = &recorder->earlier;
    CUcontext context;
    CUevent event = take(earlier, &context);

    if (!event && !atomic_load(&earlier->mixed))
        event = contexts_watch_current(&recorder->gpu, &context);
    keep(earlier, context, event);
}

void earlier_end(struct recorder *recorder)
{
    CUcontext context;
    CUevent event = take(&recorder->earlier, &context);

    if (!event || contexts_watched_is_idle(&recorder->gpu, context, event))
        return;
    keep(&recorder->earlier, context, event);
    work_put(&recorder->gpu.core.work,
             &(struct work){.kind = WORK_EARLIER, .time = mp_clock_now()});
}

void earlier_forget(struct recorder *recorder, CUcontext context)
{
    struct earlier_work *earlier = &recorder->earlier;

    pthread_mutex_lock(&earlier->lock);
    if (earlier->context == context) {
        earlier->event = NULL;
        earlier->forgotten = true;
    }
    pthread_mutex_unlock(&earlier->lock);
}
