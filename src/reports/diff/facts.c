/* Where a side ran, in words; each value that its runs have is listed once. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/storage.h"
#include "base/text/strings.h"
#include "reports/diff/diff.h"

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

/* Adds a text, unless it was said before or is empty. */
static enum mp_status say(struct mp_intern *said, const char *text)
{
    return !*text || mp_intern_add(said, text, strlen(text)) ? MP_OK : MP_ERR_MEMORY;
}

static const char *property(const struct diff_reading *reading, const char *key)
{
    const char *value = mp_trace_property(reading->trace, key);

    return value ? value : "";
}

/* The GPUs that work ran on. */
static enum mp_status take_devices(struct mp_intern *said, const struct deps *deps)
{
    const struct definitions *definitions = &deps->definitions;

    for (uint32_t lane = deps->thread_count; lane < deps->lane_count; lane++) {
        const struct definition_device *device =
            dense_at(&definitions->devices, deps->lanes[lane].device);
        const char *name =
            device && device->defined ? definitions_text(definitions, device->name) : NULL;

        MP_TRY(say(said, name ? name : ""));
    }
    return MP_OK;
}

/* A version number as CUDA encodes it, in words; another value as it is. */
static enum mp_status take_version(struct mp_intern *said, const char *value)
{
    uint64_t number;
    char text[32];

    if (!mp_text_to_u64(value, 1000, UINT32_MAX, &number))
        return say(said, value);
    snprintf(text, sizeof text, "%" PRIu64 ".%" PRIu64, number / 1000, number % 1000 / 10);
    return say(said, text);
}

static enum mp_status take_settings(struct mp_intern *said, const struct diff_reading *reading)
{
    static const char prefix[] = "MINIPROF_";
    struct mp_buffer text = {.data = NULL};
    enum mp_status status = MP_OK;
    const char *key, *value;

    for (size_t i = 0; !status && mp_trace_property_at(reading->trace, i, &key, &value); i++) {
        if (strncmp(key, prefix, sizeof prefix - 1) != 0 || !strcmp(key, "MINIPROF_OUTPUT"))
            continue;
        mp_buffer_clear(&text);
        mp_buffer_append_text(&text, key);
        mp_buffer_append_byte(&text, '=');
        mp_buffer_append_text(&text, value);
        status = mp_buffer_append_byte(&text, '\0');
        if (!status)
            status = say(said, (const char *)text.data);
    }
    mp_buffer_free(&text);
    return status;
}

enum mp_status diff_facts_take(struct diff_side *side, const struct diff_reading *reading)
{
    const char *command = property(reading, "argv");

    MP_TRY(take_devices(&side->said[DIFF_FACT_DEVICES], reading->deps));
    MP_TRY(say(&side->said[DIFF_FACT_HOST], property(reading, "hostname")));
    MP_TRY(take_version(&side->said[DIFF_FACT_DRIVER], property(reading, "driver_version")));
    MP_TRY(say(&side->said[DIFF_FACT_CUPTI], property(reading, "cupti_version")));
    MP_TRY(say(&side->said[DIFF_FACT_MINIPROF], property(reading, "miniprof")));
    MP_TRY(
        say(&side->said[DIFF_FACT_COMMAND], *command ? command : property(reading, "executable")));
    return take_settings(&side->said[DIFF_FACT_SETTINGS], reading);
}

/* ---- As one text ---- */

/* Owned; NULL: out of memory. */
static char *join(const struct mp_intern *said, const char *separator)
{
    struct mp_buffer text = {.data = NULL};

    for (uint32_t id = 1; id <= said->count; id++) {
        size_t bytes;
        const char *part = mp_intern_get(said, id, &bytes);

        mp_buffer_append_text(&text, id > 1 ? separator : "");
        mp_buffer_append(&text, part, bytes);
    }
    if (mp_buffer_append_byte(&text, '\0') != MP_OK) {
        mp_buffer_free(&text);
        return NULL;
    }
    return (char *)text.data;
}

enum mp_status diff_facts_finish(struct diff_side *side)
{
    static const char *const separators[DIFF_FACTS] = {
        [DIFF_FACT_COMMAND] = "; ",
        [DIFF_FACT_SETTINGS] = " ",
    };

    for (int kind = 0; kind < DIFF_FACTS; kind++) {
        side->facts[kind] = join(&side->said[kind], separators[kind] ? separators[kind] : ", ");
        if (!side->facts[kind])
            return MP_ERR_MEMORY;
    }
    return MP_OK;
}

void diff_facts_free(struct diff_side *side)
{
    for (int kind = 0; kind < DIFF_FACTS; kind++) {
        mp_intern_free(&side->said[kind]);
        free(side->facts[kind]);
    }
}
