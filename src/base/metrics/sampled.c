/* The table of sampled counters as data, and the code of their values. */
#include "base/metrics/sampled.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/text/strings.h"

#include "base/poison.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

#define OTHER_NAME_BYTES 64u

#define LINEAR  512u /* values up to here are the number of steps */
#define OCTAVE  256u /* values of each doubling from there on */
#define OCTAVES 50u
#define MAX     (LINEAR + OCTAVES * OCTAVE)

static const struct sampled_entry entries[] = {
#define S(name, preset, unit, step, description, other_names)                                      \
    {#name, description, other_names, preset, METRIC_UNIT_##unit, step},
#define CUPTI(name, expression)
#define GPM(name, id, factor)
#define NVML(name, reading)
#include "base/metrics/sampled.def"
};

static const struct sampled_source sources[] = {
#define S(name, preset, unit, step, description, other_names)
#define CUPTI(name, expression) {#name, SAMPLED_BY_CUPTI, expression, 0, 1},
#define GPM(name, id, factor)   {#name, SAMPLED_BY_GPM, "NVML's GPM metric " #id, id, factor},
#define NVML(name, reading)     {#name, SAMPLED_BY_NVML, "NVML", SAMPLED_NVML_##reading, 1},
#include "base/metrics/sampled.def"
};

const struct sampled_entry *sampled_entries(size_t *count)
{
    *count = COUNT_OF(entries);
    return entries;
}

const struct sampled_entry *sampled_find(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(entries); i++)
        if (mp_text_equal(entries[i].name, name))
            return &entries[i];
    return NULL;
}

const struct sampled_source *sampled_source(const char *counter, enum sampled_by by, size_t nth)
{
    for (size_t i = 0; i < COUNT_OF(sources); i++)
        if (sources[i].by == by && mp_text_equal(sources[i].counter, counter) && !nth--)
            return &sources[i];
    return NULL;
}

/* ---- Mistaken names ---- */

/* "DCGM_FI_PROF_SM_ACTIVE" without what all of DCGM's names begin with, which would make any two of
 * them look alike. */
static const char *without_dcgm(const char *name)
{
    static const char *const begins[] = {"DCGM_FI_PROF_", "DCGM_FI_DEV_"};

    for (size_t i = 0; i < COUNT_OF(begins); i++)
        if (strncasecmp(name, begins[i], strlen(begins[i])) == 0)
            return name + strlen(begins[i]);
    return name;
}

/* nsys's and DCGM's names stand for ours. */
static void offer_other_names(struct mp_meant *meant, const struct sampled_entry *entry)
{
    const char *names = entry->other_names;
    const char *item;
    char name[OTHER_NAME_BYTES];
    size_t bytes;

    while (mp_text_next_item(&names, &item, &bytes)) {
        if (bytes >= sizeof(name))
            continue;
        memcpy(name, item, bytes);
        name[bytes] = '\0';
        mp_meant_offer_as(meant, without_dcgm(name), entry->name);
    }
}

const char *sampled_suggest(const char *name)
{
    struct mp_meant meant = {.typed = without_dcgm(name)};

    mp_meant_offer(&meant, SAMPLED_DEFAULT);
    mp_meant_offer(&meant, SAMPLED_ALL);
    for (size_t i = 0; i < COUNT_OF(entries); i++) {
        mp_meant_offer(&meant, entries[i].name);
        offer_other_names(&meant, &entries[i]);
    }
    return mp_meant_name(&meant);
}

double sampled_raw_step(const char *name)
{
    enum metric_unit unit = metric_raw_unit(name);

    if (unit == METRIC_UNIT_PERCENT)
        return 0.1;
    if (unit == METRIC_UNIT_RATIO)
        return 0.001;
    if (unit == METRIC_UNIT_BYTES_PER_SECOND)
        return 1e6;
    return unit == METRIC_UNIT_PER_SECOND ? 1000 : 1;
}

/* ---- Stored values ---- */

uint16_t sampled_pack(double value, double step)
{
    double steps = value / step + 0.5;
    unsigned octave = 0;

    if (isnan(steps))
        return SAMPLED_UNKNOWN;
    if (steps < 1)
        return 0;
    while (steps >= LINEAR && octave < OCTAVES) {
        steps = (steps - 0.5) / 2 + 0.5; /* the rounding stays half a step of what is left */
        octave++;
    }
    return (uint16_t)(octave < OCTAVES ? octave * OCTAVE + (unsigned)steps : MAX);
}

double sampled_unpack(uint64_t packed, double step)
{
    if (packed == SAMPLED_UNKNOWN)
        return (double)NAN;
    if (packed < LINEAR)
        return (double)packed * step;
    if (packed > MAX)
        packed = MAX;
    unsigned octave = (unsigned)(packed / OCTAVE) - 1;
    return (double)((packed % OCTAVE + OCTAVE) << octave) * step;
}
