/* Reads a probe's answer and its trace, and reduces the samples to medians. */
#include "calibrate/answer.h"

#include <miniprof/trace.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/algorithms.h"
#include "base/text/strings.h"
#include "base/text/units.h"
#include "profile/definitions.h"
#include "profile/identity.h"
#include "profile/quality.h"
#include "profile/reading.h"
#include "trace/schema.h"

#include "base/poison.h"

/* ---- Measures ---- */

static const char *const names[] = {
#define X(name, text) text,
    MEASURES(X)
#undef X
};

const char *measure_name(enum measure measure)
{
    return names[measure];
}

/* The measure of that name; MEASURE_COUNT if there is none. */
static enum measure measure_by_name(const char *name)
{
    int i = 0;

    while (i < MEASURE_COUNT && strcmp(names[i], name) != 0)
        i++;
    return (enum measure)i;
}

/* ---- Lines ---- */

/* The words of a line: its kind, a measure, and up to three numbers. */
struct words {
    char text[5][24];
    size_t count;
};

static void split(const char *line, struct words *words)
{
    words->count = 0;
    while (*line && words->count < 5) {
        size_t length = strcspn(line, " ");

        snprintf(words->text[words->count++], sizeof words->text[0], "%.*s", (int)length, line);
        line += length;
        line += strspn(line, " ");
    }
}

static bool read_call(const struct words *words, struct answer_sample *sample)
{
    if (words->count != 5 || strcmp(words->text[0], "call") != 0 ||
        !mp_text_to_u64(words->text[2], 1, INT64_MAX, &sample->begin) ||
        !mp_text_to_u64(words->text[3], sample->begin, INT64_MAX, &sample->end) ||
        !mp_text_to_u64(words->text[4], 1, UINT32_MAX, &sample->count))
        return false;
    sample->ns = (double)(sample->end - sample->begin) / (double)sample->count;
    return true;
}

static bool read_time(const struct words *words, struct answer_sample *sample)
{
    char *end;

    if (words->count != 3 || strcmp(words->text[0], "time") != 0)
        return false;
    sample->ns = strtod(words->text[2], &end);
    return end != words->text[2] && !*end;
}

static enum mp_status take_line(struct answer *answer, const char *line, struct mp_error *error)
{
    struct answer_sample sample = {.count = 1};
    struct words words;

    if (!strncmp(line, "failed ", 7))
        return mp_error_set(error, MP_ERR_UNSUPPORTED, "%s", line + 7);
    split(line, &words);
    if (read_call(&words, &sample) || read_time(&words, &sample))
        sample.measure = measure_by_name(words.text[1]);
    else
        sample.measure = MEASURE_COUNT;
    if (sample.measure == MEASURE_COUNT || answer->count == ANSWER_SAMPLES)
        return mp_error_set(error, MP_ERR_DAMAGED, "the probe said '%.60s'", line);
    answer->samples[answer->count++] = sample;
    return MP_OK;
}

enum mp_status answer_read(const char *path, struct answer *answer, struct mp_error *error)
{
    enum mp_status status = MP_OK;
    FILE *file = fopen(path, "re");
    char line[256];

    answer->count = 0;
    if (!file)
        return mp_error_set(error, MP_ERR_IO, "the probe wrote nothing");
    while (status == MP_OK && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        status = take_line(answer, line, error);
    }
    fclose(file);
    return status;
}

/* ---- Medians ---- */

static double median(double *values, size_t count)
{
    qsort(values, count, sizeof *values, mp_compare_real);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

/* Some of a measure's calls in the trace and others not. */
static bool is_in_part(const struct answer_sample *sample)
{
    return sample->found && sample->found != sample->count;
}

static enum mp_status sum_up(const struct answer *answer, enum measure measure,
                             struct measured *measured, struct mp_error *error)
{
    double ns[ANSWER_SAMPLES];
    double inside[ANSWER_SAMPLES];
    size_t count = 0;

    for (size_t i = 0; i < answer->count; i++) {
        const struct answer_sample *sample = &answer->samples[i];
        if (sample->measure != measure)
            continue;
        if (is_in_part(sample))
            return mp_error_set(error, MP_ERR_DAMAGED, "the trace has %s of %s calls",
                                mp_count(sample->found).text, mp_count(sample->count).text);
        ns[count] = sample->ns;
        inside[count++] = sample->found ? (double)sample->inside / (double)sample->found : 0;
    }
    measured->known[measure] = count > 0;
    measured->ns[measure] = count ? median(ns, count) : 0;
    measured->inside[measure] = count ? median(inside, count) : 0;
    return MP_OK;
}

static bool may_be_missing(enum measure measure)
{
    return measure == MEASURE_BEGIN || measure == MEASURE_GRAPH_BEGIN;
}

enum mp_status answer_sum_up(const struct answer *answer, struct measured *measured,
                             struct mp_error *error)
{
    for (int i = 0; i < MEASURE_COUNT; i++) {
        MP_TRY(sum_up(answer, (enum measure)i, measured, error));
        if (!measured->known[i] && !may_be_missing((enum measure)i))
            return mp_error_set(error, MP_ERR_DAMAGED,
                                "'%s' could not be measured: this machine is too busy",
                                measure_name((enum measure)i));
    }
    return MP_OK;
}

/* ---- The trace ---- */

struct pass {
    struct answer *answer;
    struct definitions definitions;
    struct quality quality;
};

/* Other samples than those of calls begin at 0. */
static void add_call(struct answer *answer, uint64_t start, uint64_t duration)
{
    for (size_t i = 0; i < answer->count; i++) {
        struct answer_sample *sample = &answer->samples[i];
        if (sample->begin && start >= sample->begin && start < sample->end) {
            sample->found++;
            sample->inside += duration;
            return;
        }
    }
}

static enum mp_status take_call(void *context, const struct mp_batch *batch, uint32_t row)
{
    const struct mp_call_columns call = mp_call_columns(batch->columns);
    struct pass *pass = context;

    add_call(pass->answer, call.start[row], call.duration[row]);
    return MP_OK;
}

static const struct reading_table tables[] = {
    {MP_TABLE_call, MP_MASK(call, start, duration), .take_row = take_call},
};

static enum mp_status find_key(const struct mp_trace *trace, const struct definitions *definitions,
                               unsigned device, struct answer_key *key, struct mp_error *error)
{
    const char *name = definitions_device(definitions, device);

    key->driver = key->cupti = 0;
    property_number(trace, "driver_version", UINT32_MAX, &key->driver);
    property_number(trace, "cupti_version", UINT32_MAX, &key->cupti);
    if (!name || !key->driver || !key->cupti)
        return mp_error_set(error, MP_ERR_DAMAGED,
                            "the trace does not say which GPU, driver and CUPTI these are");
    mp_text_copy(key->gpu, sizeof key->gpu, name);
    return MP_OK;
}

static enum mp_status read_trace(struct mp_trace *trace, unsigned device, struct pass *pass,
                                 struct answer_key *key, struct mp_error *error)
{
    char text[QUALITY_TEXT_BYTES];
    const struct reading reading = {.trace = trace,
                                    .what = "the calls",
                                    .context = pass,
                                    READING_TABLES(tables),
                                    .quality = &pass->quality,
                                    .definitions = &pass->definitions};

    MP_TRY(reading_run(&reading, error));
    if (*quality_describe(&pass->quality, text, sizeof text))
        return mp_error_set(error, MP_ERR_DAMAGED, "%s", text);
    return find_key(trace, &pass->definitions, device, key, error);
}

enum mp_status answer_read_trace(const char *path, unsigned device, struct answer *answer,
                                 struct answer_key *key, struct mp_error *error)
{
    struct pass pass = {.answer = answer};
    struct mp_trace *trace;

    MP_TRY(mp_trace_open(path, &trace, error));
    definitions_init(&pass.definitions, trace);
    quality_init(&pass.quality, trace);
    enum mp_status status = read_trace(trace, device, &pass, key, error);
    quality_free(&pass.quality);
    definitions_free(&pass.definitions);
    mp_trace_close(trace);
    return status;
}
