/* The sentences of a digest, each true of any trace: what is not known is said, and is not 0. */
#include "reports/digest/words.h"

#include <inttypes.h>
#include <string.h>

#include "base/text/strings.h"
#include "base/text/units.h"
#include "reports/common/headline.h"
#include "reports/common/recording_cost.h"

#include "base/poison.h"

/* ---- Pieces ---- */

#define ADD(line, ...) mp_text_add((line)->text, sizeof(line)->text, __VA_ARGS__)

static struct digest_line *begin(struct digest_line *line, const char *key)
{
    line->key = key;
    *line->text = '\0';
    return line;
}

const char *digest_unit(const struct digest *digest)
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
    size_t head, skipped;

    if (all <= columns) {
        snprintf(text, size, "%.*s", (int)bytes, name);
        return text;
    }
    head = utf8_bytes(name, bytes, front);
    skipped = utf8_bytes(name, bytes, all - (columns - 3 - front));
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

static void answer_recording_cost(struct digest_line *line, const struct digest *digest)
{
    char text[RECORDING_COST_BYTES];

    ADD(line, "%s", describe_recording_cost(&digest->recording_cost, text));
}

/* Whether there is something to say on what recording costs. */
static bool knows_cost(const struct digest *digest)
{
    char text[RECORDING_COST_BYTES];

    return describe_recording_cost(&digest->recording_cost, text) != NULL;
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

static void answer_gap(struct digest_line *line, const struct quality_gap *gap)
{
    ADD(line, "What the GPU did meanwhile is not known: %s.", gap->why);
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
    size_t count = 0;

    if (digest->no_work)
        return 0;
    answer_latency(begin(&lines[count++], "latency"), digest);
    if (knows_cost(digest))
        answer_recording_cost(begin(&lines[count++], "recording_cost"), digest);
    if (digest->quality.gap) {
        answer_gap(begin(&lines[count++], "busy"), digest->quality.gap);
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

static void fact_unknown_cost(struct digest_line *line)
{
    ADD(line, "of recording: not known; miniprof run --baseline measures it");
}

size_t digest_facts(const struct digest *digest, size_t columns,
                    struct digest_line lines[DIGEST_FACTS])
{
    bool requests = digest->iterations.way == ITERATIONS_REQUESTS;
    size_t count = 0;

    fact_program(begin(&lines[count++], "program"), digest, columns);
    fact_devices(begin(&lines[count++], "GPU"), digest);
    fact_recording(begin(&lines[count++], "recording"), digest);
    if (digest->no_work)
        return count;
    if (digest->iterations.way != ITERATIONS_WHOLE)
        fact_iterations(begin(&lines[count++], requests ? "requests" : "iterations"), digest,
                        columns);
    if (!knows_cost(digest) && !digest->baseline_asked)
        fact_unknown_cost(begin(&lines[count++], "cost"));
    return count;
}
