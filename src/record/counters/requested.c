/* The counters that MINIPROF_SAMPLE asks for, and why some of them are not available. */
#include "record/counters/requested.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/text/strings.h"

#include "base/poison.h"

/* ---- Requested counters ----
 *
 * Reads the names of MINIPROF_SAMPLE: words for groups, names of the table, CUPTI's own names.
 */

static void request_one(struct requested_counters *requested, const char *name,
                        const struct sampled_entry *entry)
{
    struct requested_counter *request = &requested->items[requested->count];

    for (size_t i = 0; i < requested->count; i++)
        if (mp_text_equal(requested->items[i].name, name))
            return;
    if (requested->count == SAMPLES_MAX_COUNTERS) {
        mp_log_warn("MINIPROF_SAMPLE: more than %u counters: '%s' is left out",
                    SAMPLES_MAX_COUNTERS, name);
        return;
    }
    mp_text_copy(request->name, sizeof(request->name), name);
    request->entry = entry;
    requested->count++;
}

static void request_all(struct requested_counters *requested, bool preset_only)
{
    size_t count, i;
    const struct sampled_entry *entries = sampled_entries(&count);

    for (i = 0; i < count; i++)
        if (entries[i].preset || !preset_only)
            request_one(requested, entries[i].name, &entries[i]);
}

static void warn_of(const char *name)
{
    const char *near = sampled_suggest(name);

    if (metric_is_raw(name))
        mp_log_warn("there is no counter '%s'; one of CUPTI's has a rollup: '%s.sum', .avg, ...",
                    name, name);
    else
        mp_log_warn(
            "there is no counter '%s'%s%s%s `miniprof metrics --query --sampling` lists them", name,
            near ? "; did you mean '" : ";", near ? near : "", near ? "'?" : "");
}

void requested_read(struct requested_counters *requested, const char *names)
{
    const char *item;
    size_t bytes;

    requested->count = 0;
    while (mp_text_next_item(&names, &item, &bytes)) {
        char name[METRIC_NAME_BYTES];
        const struct sampled_entry *entry;

        if (!bytes || bytes >= sizeof(name))
            continue;
        memcpy(name, item, bytes);
        name[bytes] = '\0';
        entry = sampled_find(name);
        if (mp_text_equal(name, SAMPLED_DEFAULT) || mp_text_equal(name, SAMPLED_ALL))
            request_all(requested, mp_text_equal(name, SAMPLED_DEFAULT));
        else if (entry || (metric_is_raw(name) && strchr(name, '.')))
            request_one(requested, name, entry);
        else
            warn_of(name);
    }
}

/* ---- Unavailable counters ----
 *
 * What is said of requests that are not granted. A reason has a line of its own, since what to do
 * about it differs: a mistaken name stays mistaken in a run of its own.
 */

#define LIST_BYTES 1024u /* of names in a line */
#define ITEM_BYTES (2 * METRIC_NAME_BYTES + 32)

const char *unavailable_note(enum unavailable why)
{
    switch (why) {
    case UNAVAILABLE_COUNTER:
        return "this GPU has no such counter";
    case UNAVAILABLE_PASS:
        return "CUPTI needs several passes for it, and sampling has one";
    case UNAVAILABLE_ROOM:
        return "it does not fit into one pass beside the counters before it: sample it in a run of "
               "its own";
    case UNAVAILABLE_NOT:
    case UNAVAILABLE_NVML:
        break;
    }
    return NULL;
}

static void describe(const struct sample_plan *plan, size_t at, char item[ITEM_BYTES])
{
    const char *name = plan->requested->items[at].name;

    if (*plan->near[at])
        snprintf(item, ITEM_BYTES, "'%s' (did you mean '%s'?)", name, plan->near[at]);
    else
        snprintf(item, ITEM_BYTES, "'%s'%s", name,
                 plan->by[at] == SAMPLED_BY_NOBODY ? "" : " (NVML reads it)");
}

/* "'a', 'b'": the requests that this holds for. False: none. */
static bool list(const struct sample_plan *plan, enum unavailable why, char text[LIST_BYTES])
{
    size_t used = 0, left = 0;

    for (size_t i = 0; i < plan->requested->count; i++) {
        char item[ITEM_BYTES];

        if (plan->unavailable[i] != why)
            continue;
        describe(plan, i, item);
        if (used + strlen(item) + sizeof(", and 64 more") > LIST_BYTES)
            left++;
        else
            used +=
                (size_t)snprintf(text + used, LIST_BYTES - used, "%s%s", used ? ", " : "", item);
    }
    if (left)
        snprintf(text + used, LIST_BYTES - used, ", and %zu more", left);
    return used > 0;
}

void unavailable_say(unsigned device, const struct sample_plan *plan, const char *nvml_reason)
{
    char names[LIST_BYTES];

    if (list(plan, UNAVAILABLE_COUNTER, names))
        mp_log_warn("device %u: the GPU has no counter %s: `miniprof metrics --query --sampling` "
                    "lists those that it has",
                    device, names);
    if (list(plan, UNAVAILABLE_ROOM, names))
        mp_log_warn("device %u: no room in the one pass that sampling takes: %s: sample them in a "
                    "run of their own",
                    device, names);
    if (list(plan, UNAVAILABLE_PASS, names))
        mp_log_warn("device %u: more than the one pass that sampling takes, even alone: %s: "
                    "MINIPROF_METRICS counts them, in several passes",
                    device, names);
    if (list(plan, UNAVAILABLE_NVML, names))
        mp_log_warn("device %u: not sampled: %s: %s", device, names, nvml_reason);
}
