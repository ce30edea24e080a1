/* The sentences of a digest, each true of any trace: what is not known is said, and is not 0. */
#include <inttypes.h>
#include <string.h>

#include "base/text/strings.h"
#include "base/text/units.h"
#include "reports/common/headline.h"
#include "reports/digest/print.h"

#include "base/poison.h"

/* ---- Words ---- */

#define ADD(line, ...) mp_text_add((line)->text, DIGEST_LINE_BYTES, __VA_ARGS__)

static struct digest_line *begin(struct digest_line *line, const char *key)
{
    line->key = key;
    *line->text = '\0';
    return line;
}

/* "iteration", "request". */
static const char *digest_unit(const struct digest *digest)
{
    return digest->iterations.way == ITERATIONS_REQUESTS ? "request" : "iteration";
}

const char *digest_part_words(enum digest_part part)
{
    static const char *const words[DIGEST_PARTS] = {
        [DIGEST_KERNELS] = "kernels run",
        [DIGEST_COPIES] = "only copies or sets run",
        [DIGEST_OTHERS] = "work of others runs",
        [DIGEST_LAUNCH] = "idle: launch-bound",
        [DIGEST_QUEUED] = "idle: between queued work",
        [DIGEST_COPY] = "idle: waiting for a copy",
        [DIGEST_HOST] = "idle: waiting for the host",
        [DIGEST_SYNC] = "idle: synchronisation",
        [DIGEST_PEER] = "idle: waiting for peers",
        [DIGEST_RECORDING] = "idle: recording",
        [DIGEST_UNKNOWN] = "idle: cause not known",
    };

    return words[part];
}

double digest_share(const struct digest *digest, double ns)
{
    return digest->latency.mean > 0 ? 100 * ns / digest->latency.mean : 0;
}

void digest_gain(const struct advise_finding *finding, char *text, size_t size)
{
    char gain[MP_FORMATTED_BYTES];

    snprintf(text, size, "%s-%s, %.1f %%", finding->certainty == ADVISE_BOUND ? "at most " : "",
             mp_format_time(gain, sizeof gain, finding->gain), finding->percent);
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash && slash[1] ? slash + 1 : path;
}

const char *digest_title(const struct digest_report *report, size_t index)
{
    const char *name = base_name(report->digests[index].path);

    for (size_t i = 0; i < report->count; i++) {
        if (i != index && report->digests[index].process &&
            !strcmp(base_name(report->digests[i].path), name))
            return report->digests[index].process;
    }
    return name;
}

/* ---- Short names ---- */

static const char *shorten_bytes(const char *name, size_t bytes, size_t columns, char *text,
                                 size_t size)
{
    size_t all = utf8_count(name, bytes);
    size_t front = (columns - 3) * 3 / 5;

    if (all <= columns) {
        snprintf(text, size, "%.*s", (int)bytes, name);
        return text;
    }
    size_t head = utf8_bytes(name, bytes, front);
    size_t skipped = utf8_bytes(name, bytes, all - (columns - 3 - front));
    snprintf(text, size, "%.*s...%.*s", (int)head, name, (int)(bytes - skipped), name + skipped);
    return text;
}

const char *digest_shorten(const char *name, size_t columns, char *text, size_t size)
{
    return shorten_bytes(name, strlen(name), columns, text, size);
}

/* Bytes before the parenthesis that the last one closes; all of them if nothing else is left. */
static size_t without_parameters(const char *name, size_t bytes)
{
    size_t at = bytes;
    size_t open = 0;

    if (!bytes || name[bytes - 1] != ')')
        return bytes;
    while (at) {
        at--;
        if (name[at] == ')')
            open++;
        else if (name[at] == '(' && !--open)
            break;
    }
    return open || !at ? bytes : at;
}

const char *digest_kernel_name(const char *name, size_t columns, char *text, size_t size)
{
    if (mp_text_starts_with(name, "void "))
        name += strlen("void ");
    return shorten_bytes(name, without_parameters(name, strlen(name)), columns, text, size);
}

/* ---- The answer ---- */

static void answer_latency(struct digest_line *line, const struct digest *digest)
{
    const struct digest_iterations *iterations = &digest->iterations;
    const char *unit = digest_unit(digest);
    char p50[MP_FORMATTED_BYTES], text[HEADLINE_BYTES];

    mp_format_time(p50, sizeof p50, digest->latency.p50);
    if (iterations->way == ITERATIONS_WHOLE)
        ADD(line, "What was recorded takes %s; no iterations were found in it.", p50);
    else if (iterations->count == 1)
        ADD(line, "The only %s takes %s.", unit, p50);
    else
        ADD(line, "%s", describe_headline(&digest->headline, unit, digest->latency.p50, text));
    if (iterations->way == ITERATIONS_WHOLE || iterations->count == 1)
        return;
    if (digest->headline.split == ITERATIONS_ALIKE && !digest->headline.queued)
        ADD(line, ", P99 %s", mp_format_time(p50, sizeof p50, digest->latency.p99));
    ADD(line, ": %s a second.", mp_rounded(iterations->throughput).text);
}

static enum digest_part max_idle(const struct digest *digest)
{
    int max = DIGEST_LAUNCH;

    for (int i = DIGEST_LAUNCH; i < DIGEST_PARTS; i++) {
        if (digest->parts[i] > digest->parts[max])
            max = i;
    }
    return (enum digest_part)max;
}

static void answer_busy(struct digest_line *line, const struct digest *digest)
{
    enum digest_part part = max_idle(digest);
    double busy = digest_share(digest, digest->busy);
    double others = digest_share(digest, digest->parts[DIGEST_OTHERS]);
    double idle = 100 - busy - others;

    ADD(line, "GPU busy %.1f %% of it", busy);
    if (others >= 1)
        ADD(line, ", for other %ss %.1f %%", digest_unit(digest), others);
    if (idle >= 0.05)
        ADD(line, ", idle %.1f %%", idle);
    if (part != DIGEST_UNKNOWN && digest_share(digest, digest->parts[part]) >= 0.05)
        ADD(line, ", above all %s (%.1f %%)", digest_part_words(part) + strlen("idle: "),
            digest_share(digest, digest->parts[part]));
    ADD(line, ".");
}

static void answer_finding(struct digest_line *line, const struct digest *digest)
{
    char gain[64];

    if (!digest->finding_count) {
        ADD(line, "No finding: no rule of advise sees a gain of 1 %% or more.");
        return;
    }
    digest_gain(&digest->findings[0], gain, sizeof gain);
    ADD(line, "First finding: %s: %s.", digest->findings[0].title, gain);
}

size_t digest_answers(const struct digest *digest, struct digest_line lines[DIGEST_ANSWERS])
{
    char text[RECORDING_COST_BYTES];
    const char *cost = describe_recording_cost(&digest->recording_cost, text);
    size_t count = 0;

    if (digest->no_work)
        return 0;
    answer_latency(begin(&lines[count++], "latency"), digest);
    if (cost)
        ADD(begin(&lines[count++], "recording_cost"), "%s", cost);
    if (digest->quality.gap) {
        ADD(begin(&lines[count++], "busy"), "What the GPU did meanwhile is not known: %s.",
            digest->quality.gap->why);
        return count;
    }
    answer_busy(begin(&lines[count++], "busy"), digest);
    answer_finding(begin(&lines[count++], "finding"), digest);
    return count;
}

/* ---- What was recorded ---- */

static void fact_program(struct digest_line *line, const struct digest *digest, size_t columns)
{
    const struct digest_recording *recording = &digest->recording;
    const char *program = recording->program ? recording->program : "not known";
    char name[512];

    ADD(line, "%s", columns ? digest_shorten(program, columns, name, sizeof name) : program);
    if (recording->pid != UINT64_MAX)
        ADD(line, ", process %" PRIu64, recording->pid);
    if (recording->host)
        ADD(line, " on %s", recording->host);
    if (recording->framework)
        ADD(line, ", %s", recording->framework);
}

static bool devices_are_alike(const struct digest_recording *recording)
{
    const char *first = recording->devices[0].name;

    for (size_t i = 0; i < recording->device_count; i++) {
        const char *name = recording->devices[i].name;

        if (!first || !name || strcmp(name, first) != 0)
            return false;
    }
    return true;
}

static void fact_devices(struct digest_line *line, const struct digest *digest)
{
    const struct digest_recording *recording = &digest->recording;
    size_t all = recording->device_count + recording->devices_left;

    if (!all) {
        ADD(line, "none in the trace");
    } else if (devices_are_alike(recording)) {
        if (all > 1)
            ADD(line, "%s of ", mp_count(all).text);
        ADD(line, "%s", recording->devices[0].name);
    } else {
        for (size_t i = 0; i < recording->device_count; i++)
            ADD(line, "%s%" PRIu64 ": %s", i ? ", " : "", recording->devices[i].ordinal,
                recording->devices[i].name ? recording->devices[i].name : "name not known");
    }
    if (recording->driver)
        ADD(line, "; driver of CUDA %" PRIu64 ".%" PRIu64, recording->driver / 1000,
            recording->driver % 1000 / 10);
}

static void fact_recording(struct digest_line *line, const struct digest *digest)
{
    const struct digest_recording *recording = &digest->recording;
    char time[MP_FORMATTED_BYTES];

    if (recording->range)
        ADD(line, "capture range %" PRIu64 " of %s", recording->range,
            mp_count(recording->ranges).text);
    else if (recording->ranges)
        ADD(line, "%s capture range%s", mp_count(recording->ranges).text,
            recording->ranges == 1 ? "" : "s");
    else
        ADD(line, "no capture range");
    if (recording->in_ranges)
        ADD(line, ", %s", mp_format_time(time, sizeof time, recording->in_ranges));
    else if (recording->records)
        ADD(line, ", %s", mp_format_time(time, sizeof time, recording->span));
    ADD(line, "; %s record%s in %s bytes; %s", mp_count(recording->records).text,
        recording->records == 1 ? "" : "s", mp_count(recording->bytes).text,
        digest->quality.whole ? "whole" : "not whole");
}

static void add_way(struct digest_line *line, const struct digest_iterations *iterations,
                    size_t columns)
{
    const char *range = iterations->name ? iterations->name : "";
    char name[512];

    switch (iterations->way) {
    case ITERATIONS_NVTX:
        ADD(line, " by NVTX range \"%s\"",
            columns ? digest_shorten(range, columns, name, sizeof name) : range);
        break;
    case ITERATIONS_RANGES:
        ADD(line, " by capture range");
        break;
    case ITERATIONS_GRAPH:
        ADD(line, " by launch of CUDA graph %" PRIu64, iterations->graph);
        break;
    case ITERATIONS_KERNELS:
        ADD(line, " by %s kernel%s that repeat%s", mp_count(iterations->period).text,
            iterations->period == 1 ? "" : "s", iterations->period == 1 ? "s" : "");
        break;
    case ITERATIONS_SYNCS:
        ADD(line, " by waits of a thread");
        break;
    case ITERATIONS_REQUESTS:
        ADD(line, " in %s thread%s, %s at once", mp_count(iterations->threads).text,
            iterations->threads == 1 ? "" : "s", mp_rounded(iterations->at_once).text);
        break;
    case ITERATIONS_AUTO:
    case ITERATIONS_WHOLE:
    case ITERATIONS_WAYS:
    default:
        break;
    }
}

static void fact_iterations(struct digest_line *line, const struct digest *digest, size_t columns)
{
    const struct digest_iterations *iterations = &digest->iterations;

    ADD(line, "%s", mp_count(iterations->count).text);
    add_way(line, iterations, columns);
    if (!digest->no_work && !digest->quality.gap)
        ADD(line, "; %.1f %% of GPU work", 100 * iterations->coverage);
    if (iterations->outliers)
        ADD(line, "; %s outlier%s", mp_count(iterations->outliers).text,
            iterations->outliers == 1 ? "" : "s");
}

size_t digest_facts(const struct digest *digest, size_t columns,
                    struct digest_line lines[DIGEST_FACTS])
{
    bool requests = digest->iterations.way == ITERATIONS_REQUESTS;
    char text[RECORDING_COST_BYTES];
    size_t count = 0;

    fact_program(begin(&lines[count++], "program"), digest, columns);
    fact_devices(begin(&lines[count++], "GPU"), digest);
    fact_recording(begin(&lines[count++], "recording"), digest);
    if (digest->no_work)
        return count;
    if (digest->iterations.way != ITERATIONS_WHOLE)
        fact_iterations(begin(&lines[count++], requests ? "requests" : "iterations"), digest,
                        columns);
    if (!digest->baseline_asked && !describe_recording_cost(&digest->recording_cost, text))
        ADD(begin(&lines[count++], "cost"),
            "of recording: not known; miniprof run --pairs=5 measures it");
    return count;
}

/* ---- Notes ----
 *
 * What one must know to trust the numbers of a digest: what the trace lacks, and what its times
 * are. Each note has a key for programs and a sentence for people.
 */

struct notes {
    const struct digest *digest;
    struct digest_line *lines;
    size_t count;
};

#define NOTE(notes, key, ...) ADD(begin(&(notes)->lines[(notes)->count++], key), __VA_ARGS__)

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

    if (!flight->reason)
        return;
    struct digest_line *line = begin(&notes->lines[notes->count++], "flight");
    ADD(line, "The flight recorder wrote this trace, triggered by %s%s", flight->took ? "a " : "",
        flight->reason);
    if (flight->took)
        ADD(line, " (\"%s\" took %s)", flight->step ? flight->step : "",
            mp_format_time(time, sizeof time, flight->took));
    if (flight->from && flight->until >= flight->from)
        ADD(line, "; it covers %s",
            mp_format_time(time, sizeof time, flight->until - flight->from));
    ADD(line, ".");
}

static void note_baseline(struct notes *notes)
{
    const struct digest_quality *quality = &notes->digest->quality;
    bool measured = notes->digest->recording_cost.source >= RECORDING_COST_NOT_RECORDED;

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
