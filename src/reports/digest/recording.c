/* What was recorded of which program on which GPU, and how whole it is: the header of the trace,
 * its capture ranges and its counters.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/strings.h"
#include "profile/ranges.h"
#include "reports/digest/build.h"

#include "base/poison.h"

static uint64_t number_of(const struct mp_trace *trace, const char *key, uint64_t unknown)
{
    const char *text = mp_trace_property(trace, key);
    uint64_t number;

    return text && mp_text_to_u64(text, 0, UINT64_MAX, &number) ? number : unknown;
}

/* NULL also for an empty one. */
static enum mp_status copy_property(struct digest *digest, const struct mp_trace *trace,
                                    const char *key, const char **copy)
{
    const char *text = mp_trace_property(trace, key);

    return digest_copy(digest, text && *text ? text : NULL, copy);
}

/* ---- Devices ---- */

static int compare_devices(const void *left, const void *right)
{
    const struct digest_device *a = left;
    const struct digest_device *b = right;

    return (a->ordinal > b->ordinal) - (a->ordinal < b->ordinal);
}

static bool has_device(const struct digest_recording *recording, uint64_t ordinal)
{
    for (size_t i = 0; i < recording->device_count; i++) {
        if (recording->devices[i].ordinal == ordinal)
            return true;
    }
    return false;
}

static enum mp_status add_device(struct digest *digest, const struct definitions *definitions,
                                 uint64_t ordinal)
{
    struct digest_recording *recording = &digest->recording;
    const struct definition_device *device = dense_at(&definitions->devices, ordinal);
    struct digest_device *into;

    if (has_device(recording, ordinal))
        return MP_OK;
    if (recording->device_count == DIGEST_DEVICES) {
        recording->devices_left++;
        return MP_OK;
    }
    into = &recording->devices[recording->device_count++];
    into->ordinal = ordinal;
    if (!device || !device->defined)
        return MP_OK;
    return digest_copy(digest, definitions_text(definitions, device->name), &into->name);
}

/* Those whose streams have work. */
static enum mp_status take_devices(const struct digest_material *material, struct digest *digest)
{
    const struct deps *deps = &material->studied.deps;
    struct digest_recording *recording = &digest->recording;

    for (uint32_t i = deps->thread_count; i < deps->lane_count; i++) {
        if (deps->lanes[i].count)
            MP_TRY(add_device(digest, &deps->definitions, deps->lanes[i].device));
    }
    qsort(recording->devices, recording->device_count, sizeof *recording->devices, compare_devices);
    return MP_OK;
}

/* ---- The recording ---- */

static void take_ranges(const struct digest_material *material, struct digest_recording *recording)
{
    const struct capture_ranges *ranges = &material->contents.ranges;

    recording->ranges = ranges_count(ranges);
    recording->range = material->options->iterations.range;
    for (size_t i = 0; i < recording->ranges; i++) {
        const struct capture_range *range = dense_at(&ranges->items, i);

        if (recording->range && range->id != recording->range)
            continue;
        if (range->end_time != UINT64_MAX && range->end_time >= range->begin_time)
            recording->in_ranges += range->end_time - range->begin_time;
    }
}

static enum mp_status take_flight(const struct mp_trace *trace, struct digest *digest)
{
    struct digest_flight *flight = &digest->recording.flight;

    MP_TRY(copy_property(digest, trace, "flight_reason", &flight->reason));
    if (!flight->reason)
        return MP_OK;
    flight->from = number_of(trace, "flight_from_ns", 0);
    flight->until = number_of(trace, "flight_until_ns", 0);
    flight->trigger = number_of(trace, "flight_trigger_ns", 0);
    flight->took = number_of(trace, "flight_step_ns", 0);
    flight->limit = number_of(trace, "flight_step_limit_ns", 0);
    return copy_property(digest, trace, "MINIPROF_STEP", &flight->step);
}

static enum mp_status take_header(const struct mp_trace *trace, struct digest *digest)
{
    struct digest_recording *recording = &digest->recording;

    recording->pid = number_of(trace, "pid", UINT64_MAX);
    recording->rank = number_of(trace, "rank", UINT64_MAX);
    recording->driver = number_of(trace, "driver_version", 0);
    recording->cupti = number_of(trace, "cupti_version", 0);
    recording->start = number_of(trace, "start_realtime_ns", 0);
    MP_TRY(copy_property(digest, trace, "argv", &recording->program));
    if (!recording->program)
        MP_TRY(copy_property(digest, trace, "executable", &recording->program));
    MP_TRY(copy_property(digest, trace, "hostname", &recording->host));
    MP_TRY(copy_property(digest, trace, "MINIPROF_CAPTURE", &recording->capture));
    MP_TRY(copy_property(digest, trace, "miniprof", &recording->recorder));
    return take_flight(trace, digest);
}

enum mp_status digest_take_recording(const struct digest_material *material, struct digest *digest)
{
    const struct contents *contents = &material->contents;
    struct digest_recording *recording = &digest->recording;

    recording->records = contents->records;
    recording->bytes = contents->bytes;
    recording->span = contents->last_time - contents->first_time;
    recording->framework = material->advice.framework;
    recording->framework_percent = material->advice.framework_percent;
    take_ranges(material, recording);
    MP_TRY(take_header(material->trace, digest));
    return take_devices(material, digest);
}

/* ---- Quality ---- */

/* The pass over the file has checked all of it; the graph knows which rows it had to leave out. */
void digest_take_quality(const struct digest_material *material, struct digest *digest)
{
    const struct quality *file = &material->contents.quality;
    const struct quality *rows = &material->studied.deps.quality;
    const struct mp_damage *damage = &file->damage;
    struct digest_quality *quality = &digest->quality;

    quality_describe(rows, quality->warning, sizeof quality->warning);
    if (!*quality->warning)
        quality_describe(file, quality->warning, sizeof quality->warning);
    quality->whole = !*quality->warning;
    quality->gap = quality_gap(rows) ? quality_gap(rows) : quality_gap(file);
    quality->damaged = damage->bytes_skipped || damage->chunks_damaged || damage->rows_damaged ||
                       damage->chunks_missing || damage->truncated || damage->no_index;
    quality->dropped = rows->dropped;
    quality->unanswered = rows->unanswered;
    quality->profiled = rows->profiled;
    quality->baseline_steps = rows->baseline_steps;
    quality->baseline_unrecorded = rows->baseline_unrecorded;
    quality->callbacks_taken = rows->callbacks_taken != 0;
    quality->device_graphs = rows->device_launches ? 0 : rows->device_graphs;
    quality->conditional_graphs = rows->conditional_graphs;
}
