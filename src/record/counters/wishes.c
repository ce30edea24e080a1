/* Reads the names of MINIPROF_SAMPLE: words for groups, names of the table, CUPTI's own names. */
#include "record/counters/wishes.h"

#include <string.h>

#include "base/log.h"
#include "base/text/strings.h"

#include "base/poison.h"

static void wish_for(struct sample_wishes *wishes, const char *name,
                     const struct sampled_entry *entry)
{
    struct sample_wish *wish = &wishes->items[wishes->count];
    size_t i;

    for (i = 0; i < wishes->count; i++)
        if (mp_text_equal(wishes->items[i].name, name))
            return;
    if (wishes->count == SAMPLES_MAX_COUNTERS) {
        mp_log_warn("MINIPROF_SAMPLE: more than %u counters: '%s' is left out",
                    SAMPLES_MAX_COUNTERS, name);
        return;
    }
    mp_text_copy(wish->name, sizeof(wish->name), name);
    wish->entry = entry;
    wishes->count++;
}

static void wish_for_all(struct sample_wishes *wishes, bool preset_only)
{
    size_t count, i;
    const struct sampled_entry *entries = sampled_entries(&count);

    for (i = 0; i < count; i++)
        if (entries[i].preset || !preset_only)
            wish_for(wishes, entries[i].name, &entries[i]);
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

void wishes_read(struct sample_wishes *wishes, const char *names)
{
    const char *item;
    size_t bytes;

    wishes->count = 0;
    while (mp_text_next_item(&names, &item, &bytes)) {
        char name[METRIC_NAME_BYTES];
        const struct sampled_entry *entry;

        if (!bytes || bytes >= sizeof(name))
            continue;
        memcpy(name, item, bytes);
        name[bytes] = '\0';
        entry = sampled_find(name);
        if (mp_text_equal(name, SAMPLED_DEFAULT) || mp_text_equal(name, SAMPLED_ALL))
            wish_for_all(wishes, mp_text_equal(name, SAMPLED_DEFAULT));
        else if (entry || (metric_is_raw(name) && strchr(name, '.')))
            wish_for(wishes, name, entry);
        else
            warn_of(name);
    }
}
