/* What the trace of a recorded probe says: the durations of its calls, and whose costs they are. */
#include <miniprof/trace.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/strings.h"
#include "calibrate/answer.h"
#include "profile/definitions.h"
#include "profile/quality.h"
#include "profile/reading.h"
#include "trace/codec/schema.h"

#include "base/poison.h"

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

static unsigned long number(const struct mp_trace *trace, const char *property)
{
    const char *text = mp_trace_property(trace, property);
    uint64_t value = 0;

    if (text)
        mp_text_to_u64(text, 0, UINT32_MAX, &value);
    return (unsigned long)value;
}

static enum mp_status find_key(const struct mp_trace *trace, const struct definitions *definitions,
                               unsigned device, struct answer_key *key, struct mp_error *error)
{
    const struct definition_device *row = dense_at(&definitions->devices, device);
    const char *name = row && row->defined ? definitions_text(definitions, row->name) : NULL;

    key->driver = number(trace, "driver_version");
    key->cupti = number(trace, "cupti_version");
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
    enum mp_status status;

    MP_TRY(mp_trace_open(path, &trace, error));
    definitions_init(&pass.definitions, trace);
    quality_init(&pass.quality, trace);
    status = read_trace(trace, device, &pass, key, error);
    quality_free(&pass.quality);
    definitions_free(&pass.definitions);
    mp_trace_close(trace);
    return status;
}
