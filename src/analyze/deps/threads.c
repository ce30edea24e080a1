/* Threads as people name them: by the system's id, or by the name that the program gave through
 * NVTX.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyze/deps/deps.h"

#include "base/poison.h"

#define THREADS_SHOWN     6
#define THREAD_NAME_BYTES 40

_Static_assert(DEPS_THREADS_BYTES > THREADS_SHOWN * (THREAD_NAME_BYTES + 32), "all that is shown");

static const char *name_of_thread(const struct deps *deps, const struct deps_lane *lane)
{
    const struct definition_thread *found = dense_at(&deps->definitions.threads, lane->id);

    return found && found->name ? definitions_text(&deps->definitions, found->name) : NULL;
}

uint32_t deps_find_thread(const struct deps *deps, const char *asked)
{
    for (uint32_t i = 0; i < deps->thread_count; i++) {
        const char *name = name_of_thread(deps, &deps->lanes[i]);
        char tid[24];

        snprintf(tid, sizeof tid, "%" PRIu64, deps->lanes[i].tid);
        if (!strcmp(asked, tid) || (name && !strcmp(asked, name)))
            return i;
    }
    return DEPS_NONE;
}

const char *deps_list_threads(const struct deps *deps, char text[DEPS_THREADS_BYTES])
{
    size_t used = 0;

    *text = '\0';
    for (uint32_t i = 0; i < deps->thread_count && i < THREADS_SHOWN; i++) {
        const char *name = name_of_thread(deps, &deps->lanes[i]);

        used += (size_t)snprintf(text + used, DEPS_THREADS_BYTES - used, "%s%" PRIu64,
                                 i ? ", " : "; there are: ", deps->lanes[i].tid);
        if (name && *name)
            used += (size_t)snprintf(text + used, DEPS_THREADS_BYTES - used, " '%.*s'",
                                     THREAD_NAME_BYTES, name);
    }
    if (deps->thread_count > THREADS_SHOWN)
        snprintf(text + used, DEPS_THREADS_BYTES - used, ", ...");
    return text;
}
