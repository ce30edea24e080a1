/* One line about a trace of the flight recorder: its trigger, and from when to when the trace is
 * complete.
 */
#include "reports/common/flight.h"

#include "base/text/foreign.h"
#include "base/text/strings.h"
#include "base/text/units.h"
#include "reports/common/quality.h"

#include "base/poison.h"

#define TIME_BYTES 24

static bool number_of(const struct mp_trace *trace, const char *key, uint64_t *number)
{
    const char *text = mp_trace_property(trace, key);

    return text && mp_text_to_u64(text, 0, UINT64_MAX, number);
}

/* `SIGSEGV`, `a slow step ("forward" took 61.200ms, more than 50.000ms)` */
static void print_trigger(FILE *file, const struct mp_trace *trace)
{
    const char *name = mp_trace_property(trace, "MINIPROF_STEP");
    char text[TIME_BYTES];
    uint64_t took;
    uint64_t limit;
    bool is_step = number_of(trace, "flight_step_ns", &took);

    fputs(is_step ? "a " : "", file);
    foreign_put_text(file, mp_trace_property(trace, "flight_reason"));
    if (!is_step)
        return;
    fputs(" (\"", file);
    foreign_put_text(file, name ? name : "");
    fprintf(file, "\" took %s", mp_format_time(text, sizeof text, took));
    if (number_of(trace, "flight_step_limit_ns", &limit))
        fprintf(file, ", more than %s", mp_format_time(text, sizeof text, limit));
    fputc(')', file);
}

/* `; it covers 29.812s, up to 3.1000ms after that` */
static void print_covered(FILE *file, const struct mp_trace *trace)
{
    char text[TIME_BYTES];
    uint64_t from;
    uint64_t until;
    uint64_t trigger;

    if (!number_of(trace, "flight_from_ns", &from) ||
        !number_of(trace, "flight_until_ns", &until) || until < from)
        return;
    fprintf(file, "; it covers %s", mp_format_time(text, sizeof text, until - from));
    if (number_of(trace, "flight_trigger_ns", &trigger) && trigger <= until)
        fprintf(file, ", up to %s after that", mp_format_time(text, sizeof text, until - trigger));
}

void print_flight_note(const struct report_out *out, const struct mp_trace *trace)
{
    if (!mp_trace_property(trace, "flight_reason"))
        return;
    print_prefix(out, trace);
    fputs("Note: the flight recorder wrote this trace, triggered by ", out->file);
    print_trigger(out->file, trace);
    print_covered(out->file, trace);
    fputs(".\n", out->file);
}

void json_flight(struct json_writer *json, const struct mp_trace *trace)
{
    static const struct {
        const char *property;
        const char *key;
    } numbers[] = {
        {"flight_trigger_ns", "trigger_ns"}, {"flight_from_ns", "from_ns"},
        {"flight_until_ns", "until_ns"},     {"flight_step_start_ns", "step_start_ns"},
        {"flight_step_ns", "step_ns"},       {"flight_step_limit_ns", "step_limit_ns"},
    };
    const char *reason = mp_trace_property(trace, "flight_reason");
    uint64_t number;

    if (!reason)
        return;
    json_key_object(json, "flight");
    JSON_FACTS(json, FACT("reason", reason));
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (number_of(trace, numbers[i].property, &number))
            JSON_FACTS(json, FACT(numbers[i].key, number));
    }
    json_close_object(json);
}
