/* What one must know to trust the numbers of a digest: what the trace lacks, and what its times
 * are. Each note has a key for programs and a sentence for people.
 */
#include <string.h>

#include "base/text/strings.h"
#include "base/text/units.h"
#include "reports/digest/words.h"

#include "base/poison.h"

struct notes {
    const struct digest *digest;
    struct digest_line *lines;
    size_t count;
};

/* The text of the next note, which is still empty. */
static char *next(struct notes *notes, const char *key)
{
    struct digest_line *line = &notes->lines[notes->count++];

    line->key = key;
    *line->text = '\0';
    return line->text;
}

#define NOTE(notes, key, ...) mp_text_add(next((notes), (key)), DIGEST_LINE_BYTES, __VA_ARGS__)

static const char *plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

/* ---- What is not there ---- */

static void note_empty(struct notes *notes)
{
    const struct digest_recording *recording = &notes->digest->recording;
    const char *capture = recording->capture;
    bool waits = capture && (!strcmp(capture, "range") || !strcmp(capture, "off") ||
                             mp_text_starts_with(capture, "nvtx:"));

    if (recording->records)
        return;
    if (waits && !recording->ranges)
        NOTE(notes, "empty", "Nothing was recorded: no capture range began (MINIPROF_CAPTURE=%s).",
             capture);
    else
        NOTE(notes, "empty", "Nothing was recorded: the trace has no records.");
}

static void note_no_work(struct notes *notes)
{
    const struct digest *digest = notes->digest;

    if (!digest->no_work || !digest->recording.records)
        return;
    NOTE(notes, "no_gpu_work", "No GPU work in the trace%s%s.", digest->quality.gap ? "; " : "",
         digest->quality.gap ? digest->quality.gap->why
         : digest->gpu_off   ? ": MINIPROF_GPU=off"
                             : "");
}

static void note_no_calls(struct notes *notes)
{
    const struct digest *digest = notes->digest;

    if (digest->no_calls && !digest->no_work)
        NOTE(notes, "no_calls",
             "No API calls in the trace: why the GPU was idle is not known, and work belongs to "
             "the iteration in which it began.");
}

static void note_iterations(struct notes *notes)
{
    const struct digest *digest = notes->digest;
    const struct digest_iterations *iterations = &digest->iterations;

    if (digest->no_work)
        return;
    if (iterations->way == ITERATIONS_WHOLE)
        NOTE(notes, "no_iterations", "All of it counts as one iteration%s%s.",
             iterations->why_whole ? ": " : "", iterations->why_whole ? iterations->why_whole : "");
    else if (iterations->coverage < ITERATIONS_ENOUGH_COVERAGE && !digest->quality.gap)
        NOTE(notes, "low_coverage",
             "%.1f %% of the GPU work is in no iteration; miniprof iters --candidates lists what "
             "else repeats.",
             100 * (1 - iterations->coverage));
}

/* ---- What the numbers are ---- */

static void note_flight(struct notes *notes)
{
    const struct digest_flight *flight = &notes->digest->recording.flight;
    char time[MP_FORMATTED_BYTES];
    char *text;

    if (!flight->reason)
        return;
    text = next(notes, "flight");
    mp_text_add(text, DIGEST_LINE_BYTES, "The flight recorder wrote this trace, triggered by %s%s",
                flight->took ? "a " : "", flight->reason);
    if (flight->took)
        mp_text_add(text, DIGEST_LINE_BYTES, " (\"%s\" took %s)", flight->step ? flight->step : "",
                    mp_format_time(time, sizeof time, flight->took));
    if (flight->from && flight->until >= flight->from)
        mp_text_add(text, DIGEST_LINE_BYTES, "; it covers %s",
                    mp_format_time(time, sizeof time, flight->until - flight->from));
    mp_text_add(text, DIGEST_LINE_BYTES, ".");
}

static void note_baseline(struct notes *notes)
{
    const struct digest_quality *quality = &notes->digest->quality;
    bool measured = notes->digest->recording_cost.source == RECORDING_COST_MEASURED;

    if (notes->digest->baseline_asked && !measured)
        NOTE(notes, "no_baseline",
             "What a step takes without recording is not known: too few steps of a kind; miniprof "
             "iters says more.");
    else if (quality->baseline_unrecorded)
        NOTE(notes, "baseline", "%s of %s steps were not recorded, as --baseline asks.",
             mp_count(quality->baseline_unrecorded).text, mp_count(quality->baseline_steps).text);
}

static void note_callbacks(struct notes *notes)
{
    if (notes->digest->quality.callbacks_taken)
        NOTE(notes, "callbacks_taken", QUALITY_CALLBACKS_NOTE);
}

static void note_profiled(struct notes *notes)
{
    uint64_t profiled = notes->digest->quality.profiled;

    if (profiled)
        NOTE(notes, "profiled",
             "%s kernel%s run again for metrics: these times are the profiler's.",
             mp_count(profiled).text, profiled == 1 ? " was" : "s were");
}

static void note_device_graphs(struct notes *notes)
{
    const struct digest_quality *quality = &notes->digest->quality;

    if (quality->device_graphs)
        NOTE(notes, "device_graphs",
             "%s CUDA graph%s may be launched by the device, which is not in the trace.",
             mp_count(quality->device_graphs).text, plural(quality->device_graphs));
    if (quality->conditional_graphs)
        NOTE(notes, "conditional_graphs",
             "%s CUDA graph%s with conditional nodes may run more than is in the trace.",
             mp_count(quality->conditional_graphs).text, plural(quality->conditional_graphs));
}

size_t digest_notes(const struct digest *digest, struct digest_line lines[DIGEST_NOTES])
{
    struct notes notes = {.digest = digest, .lines = lines};

    note_empty(&notes);
    note_no_work(&notes);
    note_no_calls(&notes);
    note_iterations(&notes);
    note_flight(&notes);
    note_baseline(&notes);
    note_callbacks(&notes);
    note_profiled(&notes);
    note_device_graphs(&notes);
    return notes.count;
}
