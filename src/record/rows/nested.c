/* Drops driver calls that a runtime call made inside itself. CUPTI completes the inner record
 * first, so such calls wait until it is known what encloses them.
 */
#include "record/rows/decode.h"

#include <stdlib.h>
#include <string.h>

#include "base/data/storage.h"

#include "base/poison.h"

void nested_open(struct nested *nested, nested_use *use, void *context)
{
    memset(nested, 0, sizeof(*nested));
    nested->use = use;
    nested->context = context;
}

void nested_close(struct nested *nested)
{
    for (uint32_t i = 0; i < nested->count; i++)
        free(nested->threads[i]);
    free(nested->threads);
    mp_map_free(&nested->index);
    memset(nested, 0, sizeof(*nested));
}

static struct nested_thread *known_thread(const struct nested *nested, uint32_t tid)
{
    uint32_t index = mp_map_get(&nested->index, tid);

    return index == MP_MAP_ABSENT ? NULL : nested->threads[index];
}

static struct nested_thread *add_thread(struct nested *nested, uint32_t tid)
{
    if (nested->count == nested->capacity &&
        !mp_double(&nested->threads, &nested->capacity, sizeof(struct nested_thread *)))
        return NULL;
    struct nested_thread *thread = calloc(1, sizeof(*thread));
    if (!thread || mp_map_put(&nested->index, tid, nested->count) != MP_OK) {
        free(thread);
        return NULL;
    }
    nested->threads[nested->count++] = thread;
    return thread;
}

/* Hands on the oldest `count` calls. */
static void release(struct nested *nested, struct nested_thread *thread, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        nested->use(nested->context, &thread->calls[i]);
    thread->count -= count;
    memmove(thread->calls, thread->calls + count, thread->count * sizeof(thread->calls[0]));
    thread->seen = thread->seen > count ? thread->seen - count : 0;
}

void nested_driver_call(struct nested *nested, const struct record_call *call)
{
    struct nested_thread *thread = known_thread(nested, call->thread);

    if (!thread)
        thread = add_thread(nested, call->thread);
    if (!thread) {
        nested->use(nested->context, call);
        return;
    }
    if (thread->count == NESTED_WAITING)
        release(nested, thread, NESTED_WAITING / 2);
    thread->calls[thread->count++] = *call;
}

void nested_runtime_call(struct nested *nested, const struct record_call *call)
{
    struct nested_thread *thread = known_thread(nested, call->thread);

    if (thread && thread->count) {
        uint32_t before = 0;

        /* The calls of a thread are in order: those that began before this one are written, the
         * rest are inside it. */
        while (before < thread->count && thread->calls[before].start < call->start)
            before++;
        while (thread->count > before && thread->calls[thread->count - 1].end <= call->end) {
            thread->count--;
            nested->dropped++;
        }
        release(nested, thread, thread->count);
    }
    nested->use(nested->context, call);
}

void nested_flush(struct nested *nested, bool all)
{
    for (uint32_t i = 0; i < nested->count; i++) {
        struct nested_thread *thread = nested->threads[i];

        release(nested, thread, all ? thread->count : thread->seen);
        thread->seen = thread->count;
    }
}
