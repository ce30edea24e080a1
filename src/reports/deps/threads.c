/* Threads as people name them: by the system's id, or by the name that the program gave them
 * through NVTX, or the system.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "reports/deps/deps.h"

#include "base/poison.h"

#define THREADS_SHOWN     6
#define THREAD_NAME_BYTES 40

_Static_assert(DEPS_THREADS_BYTES > THREADS_SHOWN * (THREAD_NAME_BYTES + 32), "all that is shown");

static const char *name_of_thread(const struct deps *deps, const struct deps_lane *lane)
{
    const struct definition_thread *found = dense_at(&deps->definitions.threads, lane->id);

    return found && found->name ? definitions_text(&deps->definitions, found->name) : NULL;
}

static bool has_id(const struct deps_lane *lane, const char *asked)
{
    char tid[24];

    snprintf(tid, sizeof tid, "%" PRIu64, lane->tid);
    return !strcmp(asked, tid);
}

/* How many threads have the name; *last is one of them. */
static uint32_t count_of_name(const struct deps *deps, const char *asked, uint32_t *last)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < deps->thread_count; i++) {
        const char *name = name_of_thread(deps, &deps->lanes[i]);

        if (name && !strcmp(asked, name)) {
            *last = i;
            count++;
        }
    }
    return count;
}

/* Threads inherit the system's name from the thread that made them, so many may have one. */
uint32_t deps_find_thread(const struct deps *deps, const char *asked)
{
    uint32_t found = DEPS_NONE;

    for (uint32_t i = 0; i < deps->thread_count; i++) {
        if (has_id(&deps->lanes[i], asked))
            return i;
    }
    return count_of_name(deps, asked, &found) == 1 ? found : DEPS_NONE;
}

const char *deps_refuse_thread(const struct deps *deps, const char *asked,
                               char text[DEPS_REFUSAL_BYTES])
{
    char list[DEPS_THREADS_BYTES];
    uint32_t last;

    snprintf(text, DEPS_REFUSAL_BYTES,
             count_of_name(deps, asked, &last) > 1
                 ? "several threads are called '%.64s', name one by its id%s"
                 : "there is no thread '%.64s'%s",
             asked, deps_list_threads(deps, list));
    return text;
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
