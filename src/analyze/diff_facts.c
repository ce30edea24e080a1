/* Where a side ran, in words; of several runs what each says, once. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyze/diff.h"
#include "base/strings.h"

#include "base/poison.h"

const char *diff_fact_name(enum diff_fact_kind kind)
{
    static const char *const names[DIFF_FACTS] = {
        [DIFF_FACT_DEVICES] = "GPU",           [DIFF_FACT_HOST] = "host",
        [DIFF_FACT_DRIVER] = "driver version", [DIFF_FACT_CUPTI] = "CUPTI version",
        [DIFF_FACT_MINIPROF] = "miniprof",     [DIFF_FACT_COMMAND] = "program",
        [DIFF_FACT_SETTINGS] = "settings",
    };

    return names[kind];
}

/* Adds to a list of texts, unless the text is one of them; what does not fit is left out. */
static void append(char *list, const char *text, const char *separator)
{
    size_t used = strlen(list);
    size_t length = strlen(text);
    size_t apart = strlen(separator);

    if (!length)
        return;
    for (const char *at = list; (at = strstr(at, text)); at++) {
        bool begins =
            at == list || (at - list >= (ptrdiff_t)apart && !memcmp(at - apart, separator, apart));

        if (begins && (!at[length] || !strncmp(at + length, separator, apart)))
            return;
    }
    snprintf(list + used, DIFF_FACT_BYTES - used, "%s%s", used ? separator : "", text);
}

static const char *property(const struct diff_reading *reading, const char *key)
{
    const char *value = mp_trace_property(reading->trace, key);

    return value ? value : "";
}

/* The GPUs that work ran on. */
static void take_devices(char *fact, const struct deps *deps)
{
    const struct definitions *definitions = &deps->definitions;

    for (uint32_t lane = deps->thread_count; lane < deps->lane_count; lane++) {
        const struct definition_device *device =
            dense_at(&definitions->devices, deps->lanes[lane].device);
        const char *name =
            device && device->defined ? definitions_text(definitions, device->name) : NULL;

        append(fact, name ? name : "", ", ");
    }
}

/* CUDA's way to write a version in a number, or as it is. */
static void take_version(char *fact, const char *value, const char *separator)
{
    uint64_t number;
    char text[32];

    if (!mp_text_to_u64(value, 1000, UINT32_MAX, &number)) {
        append(fact, value, separator);
        return;
    }
    snprintf(text, sizeof text, "%" PRIu64 ".%" PRIu64, number / 1000, number % 1000 / 10);
    append(fact, text, separator);
}

static void take_settings(char *fact, const struct diff_reading *reading)
{
    static const char prefix[] = "MINIPROF_";
    const char *key, *value;

    for (size_t i = 0; mp_trace_property_at(reading->trace, i, &key, &value); i++) {
        char text[160];

        if (strncmp(key, prefix, sizeof prefix - 1) != 0 || !strcmp(key, "MINIPROF_OUTPUT"))
            continue;
        snprintf(text, sizeof text, "%.60s=%.90s", key, value);
        append(fact, text, " ");
    }
}

void diff_facts_take(struct diff_side *side, const struct diff_reading *reading)
{
    const char *command = property(reading, "argv");

    take_devices(side->facts[DIFF_FACT_DEVICES], reading->deps);
    append(side->facts[DIFF_FACT_HOST], property(reading, "hostname"), ", ");
    take_version(side->facts[DIFF_FACT_DRIVER], property(reading, "driver_version"), ", ");
    append(side->facts[DIFF_FACT_CUPTI], property(reading, "cupti_version"), ", ");
    append(side->facts[DIFF_FACT_MINIPROF], property(reading, "miniprof"), ", ");
    append(side->facts[DIFF_FACT_COMMAND], *command ? command : property(reading, "executable"),
           "; ");
    take_settings(side->facts[DIFF_FACT_SETTINGS], reading);
}
