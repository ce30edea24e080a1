/* nvprof's metrics and events as a table (metrics.def), with search by name, by pattern and by
 * nearest spelling. A name that is none of nvprof's counts as one of CUPTI's own.
 */
#include "base/metrics/table.h"

#include <stdlib.h>
#include <string.h>

#include "base/text/nearest.h"
#include "base/text/strings.h"

#include "base/poison.h"

/* The initialisers rely on this: an entry names each candidate as a struct of its own. */
#define EXACT(expression)                                                                          \
    {                                                                                              \
        expression, NULL                                                                           \
    }
#define INSTEAD(expression, note)                                                                  \
    {                                                                                              \
        expression, note                                                                           \
    }
#define NOTHING                                                                                    \
    {                                                                                              \
        NULL, NULL                                                                                 \
    }
#define ENTRY(kind_, name_, unit_, description, ...)                                               \
    {                                                                                              \
        .name = #name_, .kind = METRIC_KIND_##kind_, .unit = METRIC_UNIT_##unit_, .candidates = {  \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }

#define METRIC(...) ENTRY(METRIC, __VA_ARGS__),
#define EVENT(...)
static const struct metric_entry metrics[] = {
#include "base/metrics/metrics.def"
};

#define METRIC(...)
#define EVENT(...) ENTRY(EVENT, __VA_ARGS__),
static const struct metric_entry events[] = {
#include "base/metrics/metrics.def"
};

#define COUNT_OF(array) (sizeof(array) / sizeof(*(array)))

/* ---- Entries ---- */

const struct metric_entry *metric_entries(enum metric_kind kind, size_t *count)
{
    switch (kind) {
    case METRIC_KIND_METRIC:
        *count = COUNT_OF(metrics);
        return metrics;
    case METRIC_KIND_EVENT:
        *count = COUNT_OF(events);
        return events;
    case METRIC_KIND_RAW:
        break;
    }
    *count = 0;
    return NULL;
}

static int compare_name(const void *key, const void *item)
{
    return strcmp(key, ((const struct metric_entry *)item)->name);
}

const struct metric_entry *metric_find_of(enum metric_kind kind, const char *name)
{
    size_t count;
    const struct metric_entry *entries = metric_entries(kind, &count);

    return entries ? bsearch(name, entries, count, sizeof(*entries), compare_name) : NULL;
}

const struct metric_entry *metric_find(const char *name)
{
    const struct metric_entry *found = metric_find_of(METRIC_KIND_METRIC, name);

    return found ? found : metric_find_of(METRIC_KIND_EVENT, name);
}

/* ---- CUPTI's own names ---- */

bool metric_is_raw(const char *name)
{
    const char *mark = strstr(name, "__");

    /* The name is also parsed as an expression, which has to be one name:
     * TPC.TriageCompute.sm__cycles_active.avg is one. */
    return mark && mark > name && mark[2] && strlen(name) < METRIC_NAME_BYTES &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.") ==
               strlen(name) &&
           strspn(name, "0123456789_.") == 0;
}

static bool ends_with(const char *text, const char *end)
{
    size_t text_bytes = strlen(text);
    size_t end_bytes = strlen(end);

    return text_bytes >= end_bytes && !strcmp(text + text_bytes - end_bytes, end);
}

enum metric_unit metric_raw_unit(const char *name)
{
    /* `unit__bytes_read.sum` counts bytes, `unit__average_bytes_per_sector.ratio` does not. */
    const char *counter = strstr(name, "__");
    bool bytes = counter && (strstr(counter, "__bytes") || strstr(counter, "_bytes"));

    if (ends_with(name, ".pct") || strstr(name, ".pct_of_peak"))
        return METRIC_UNIT_PERCENT;
    if (ends_with(name, ".ratio") || strstr(name, ".per_cycle") || ends_with(name, ".max_rate"))
        return METRIC_UNIT_RATIO;
    if (ends_with(name, ".per_second"))
        return bytes ? METRIC_UNIT_BYTES_PER_SECOND : METRIC_UNIT_PER_SECOND;
    if (counter && strstr(counter, "__time_duration"))
        return METRIC_UNIT_NANOSECONDS;
    return bytes ? METRIC_UNIT_BYTES : METRIC_UNIT_COUNT;
}

bool metric_look_up(const char *name, struct metric_entry *entry)
{
    const struct metric_entry *found = metric_find(name);

    if (found) {
        *entry = *found;
        return true;
    }
    if (!metric_is_raw(name))
        return false;
    *entry = (struct metric_entry){
        .name = name,
        .kind = METRIC_KIND_RAW,
        .unit = metric_raw_unit(name),
        .candidates = {{name, NULL}},
    };
    return true;
}

/* ---- The nearest name ---- */

const char *metric_suggest(const char *name)
{
    struct mp_meant meant = {.typed = name};

    for (size_t i = 0; i < COUNT_OF(metrics); i++)
        mp_meant_offer(&meant, metrics[i].name);
    for (size_t i = 0; i < COUNT_OF(events); i++)
        mp_meant_offer(&meant, events[i].name);
    return *name ? mp_meant_name(&meant) : NULL;
}

/* ---- Lists ---- */

void metric_names_begin(struct metric_names *names, const char *list)
{
    *names = (struct metric_names){.list = list, .cursor = list};
}

static bool item_is(const char *item, size_t bytes, const char *word)
{
    return strlen(word) == bytes && !memcmp(item, word, bytes);
}

/* The kind of entries that an item of a list stands for; METRIC_KIND_RAW when it is a name. */
static enum metric_kind group_of(const char *item, size_t bytes)
{
    if (item_is(item, bytes, "all"))
        return METRIC_KIND_METRIC;
    return item_is(item, bytes, "events") ? METRIC_KIND_EVENT : METRIC_KIND_RAW;
}

static void copy_name(char name[METRIC_NAME_BYTES], const char *item, size_t bytes)
{
    if (bytes >= METRIC_NAME_BYTES)
        bytes = METRIC_NAME_BYTES - 1;
    memcpy(name, item, bytes);
    name[bytes] = '\0';
}

/* Whether the list had `name` before the item that begins at `end`. */
static bool came_before(const struct metric_names *names, const char *end, const char *name)
{
    const char *cursor = names->list;
    const char *item;
    char other[METRIC_NAME_BYTES];
    size_t bytes;

    while (mp_text_next_item(&cursor, &item, &bytes) && item < end) {
        enum metric_kind kind = group_of(item, bytes);

        if (metric_find_of(kind, name))
            return true;
        copy_name(other, item, bytes);
        if (kind == METRIC_KIND_RAW && !strcmp(other, name))
            return true;
    }
    return false;
}

/* The next entry of the group that the walk is in. */
static bool next_of_group(struct metric_names *names, char name[METRIC_NAME_BYTES])
{
    size_t count;
    const struct metric_entry *entries = metric_entries(names->kind, &count);

    while (names->group && names->position < count) {
        const struct metric_entry *entry = &entries[names->position++];

        if (came_before(names, names->group, entry->name))
            continue;
        mp_text_copy(name, METRIC_NAME_BYTES, entry->name);
        return true;
    }
    names->group = NULL;
    return false;
}

bool metric_names_next(struct metric_names *names, char name[METRIC_NAME_BYTES])
{
    const char *item;
    size_t bytes;

    if (next_of_group(names, name))
        return true;
    while (mp_text_next_item(&names->cursor, &item, &bytes)) {
        enum metric_kind kind = group_of(item, bytes);

        if (kind != METRIC_KIND_RAW) {
            names->kind = kind;
            names->group = item;
            names->position = 0;
            if (next_of_group(names, name))
                return true;
            continue;
        }
        copy_name(name, item, bytes);
        if (bytes && !came_before(names, item, name))
            return true;
    }
    return false;
}
