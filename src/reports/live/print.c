/* One block of `top`: text, a row of CSV or a line of JSON from the same struct. The units of CSV
 * are fixed, because rows are added one by one and the first ones are already printed.
 */
#include "reports/live/print.h"

#include <inttypes.h>

#include "base/text/foreign.h"
#include "base/text/json.h"
#include "base/text/units.h"
#include "reports/common/sampled.h"
#include "reports/counters/print.h"
#include "table/table.h"

#include "base/poison.h"

static double per_second(uint64_t number, const struct live *live)
{
    return live->interval_ns ? (double)number * 1e9 / (double)live->interval_ns : 0;
}

static double percent_of(uint64_t part, uint64_t whole)
{
    double percent = whole ? 100.0 * (double)part / (double)whole : 0;

    return percent < 100 ? percent : 100;
}

static uint64_t mean_of(uint64_t sum, uint64_t count)
{
    return count ? (sum + count / 2) / count : 0;
}

static const char *const directions[LIVE_DIRECTIONS] = {
    [LIVE_TO_DEVICE] = "HtoD", [LIVE_TO_HOST] = "DtoH", [LIVE_OTHER] = "other"};

static const char *device_name(const struct live *live, uint64_t ordinal)
{
    const char *name = definitions_device(&live->definitions, ordinal);

    return name ? name : "GPU";
}

static const char *kernel_name(struct live *live, const struct live_sum *sum)
{
    const char *name = definitions_kernel(&live->definitions, sum->shape, NAMES_READABLE);

    return name ? name : "<unknown>";
}

static const char *layer_name(struct live *live, const struct live_sum *sum)
{
    const char *name = definitions_text(&live->definitions, sum->name);

    if (name)
        return name;
    return sum->name || sum->domain ? "<unnamed>" : "<no range>";
}

/* ---- Text ---- */

static void print_head(FILE *out, const char *title, const char *state, const struct live *live)
{
    char time[MP_FORMATTED_BYTES], size[MP_FORMATTED_BYTES];

    foreign_put_text(out, title);
    fprintf(out, "  %s, %s, %s records, %s dropped",
            mp_format_time(time, sizeof time, live->span_ns),
            mp_format_size(size, sizeof size, live->bytes), mp_count(live->records).text,
            mp_count(live->dropped).text);
    if (state)
        fprintf(out, "  [%s]", state);
    fputc('\n', out);
}

#define COUNTERS_SHOWN 6 /* in text; the others are in JSON */

/* One line; none without samples. */
static void print_counters_of(FILE *out, const struct live *live, uint64_t device)
{
    const struct live_counter *counter;
    size_t position = 0;
    int shown = 0;

    while (shown < COUNTERS_SHOWN && (counter = live_next_counter(live, device, &position))) {
        const char *name = definitions_text(&live->definitions, counter->name);
        char text[SAMPLED_BYTES];

        fputs(shown++ ? ", " : "        ", out);
        foreign_put_text(out, name ? name : "?");
        fprintf(out, " %s", sampled_text(text, counter->unit, counter->mean));
    }
    if (shown)
        fputc('\n', out);
}

static void print_devices(FILE *out, const struct live *live)
{
    for (size_t i = 0; i < live->device_count; i++) {
        const struct live_device *device = &live->devices[i];

        fprintf(out, "GPU %-3" PRIu64 " %5.1f%% busy, %5.1f%% since the start  ", device->device,
                percent_of(device->last_busy, live->interval_ns),
                percent_of(device->busy, live->span_ns));
        foreign_put_text(out, device_name(live, device->device));
        fputc('\n', out);
        print_counters_of(out, live, device->device);
    }
}

static void print_rates(FILE *out, const struct live *live)
{
    char text[MP_FORMATTED_BYTES];

    fprintf(out, "Kernels %s/s", mp_figure(per_second(live->kernels.all.last_count, live)).text);
    for (int i = 0; i < LIVE_DIRECTIONS; i++) {
        const struct live_copies *copies = &live->copies[i];

        fprintf(out, "   %s %s", i == LIVE_OTHER ? "other copies" : directions[i],
                mp_format_throughput(text, sizeof text, per_second(copies->last_bytes, live)));
    }
    fputc('\n', out);
}

/* It is at most 1/16 too great: a digit less than other times have. */
static const char *percentile(char text[MP_FORMATTED_BYTES], const struct mp_histogram *lengths,
                              unsigned percent)
{
    uint64_t ns = mp_histogram_percentile(lengths, percent);

    return mp_format_time_within(text, MP_FORMATTED_BYTES, ns, (double)ns / 16);
}

static void print_lengths(FILE *out, const char *title, uint64_t count, uint64_t sum,
                          const struct mp_histogram *lengths)
{
    char mean[MP_FORMATTED_BYTES], p50[MP_FORMATTED_BYTES], p99[MP_FORMATTED_BYTES];

    fprintf(out, "   %s: %s", title, mp_count(count).text);
    if (!count)
        return;
    fprintf(out, ", avg %s, p50 %s, p99 %s", mp_format_time(mean, sizeof mean, mean_of(sum, count)),
            percentile(p50, lengths, 50), percentile(p99, lengths, 99));
}

static void print_iterations(FILE *out, const struct live *live)
{
    const struct live_step *step = live_iteration(live);

    if (!step) {
        fputs(live->options.iteration ? "Iterations: none of that name has ended yet\n"
                                      : "Iterations: no NVTX range has ended yet\n",
              out);
        return;
    }
    const char *name = definitions_text(&live->definitions, step->name);
    fputs("Iterations \"", out);
    foreign_put_text(out, name ? name : "<unnamed>");
    fputs("\"\n", out);
    print_lengths(out, "now", step->last_count, step->last_sum, &step->last_lengths);
    fputc('\n', out);
    print_lengths(out, "all", step->count, step->sum, &step->lengths);
    fputc('\n', out);
}

static void print_sums(FILE *out, const char *title, struct live *live,
                       const struct live_sums *sums,
                       const char *(*name_of)(struct live *, const struct live_sum *), size_t room)
{
    const struct live_sum *top[PRINT_LIVE_MAX];
    size_t count = live_top(sums, top, room < PRINT_LIVE_MAX ? room : PRINT_LIVE_MAX);
    char time[MP_FORMATTED_BYTES], mean[MP_FORMATTED_BYTES];

    if (!count)
        return;
    fprintf(out, "\n    Now      Time     Calls       Avg     All  %s\n", title);
    for (size_t i = 0; i < count; i++) {
        fprintf(out, "%7s  %8s  %8s  %8s  %5.1f%%  ",
                mp_percent(percent_of(top[i]->last_ns, sums->all.last_ns)).text,
                mp_format_time(time, sizeof time, top[i]->last_ns),
                mp_count(top[i]->last_count).text,
                mp_format_time(mean, sizeof mean, mean_of(top[i]->last_ns, top[i]->last_count)),
                percent_of(top[i]->ns, sums->all.ns));
        foreign_put_text(out, name_of(live, top[i]));
        fputc('\n', out);
    }
}

void print_live(FILE *out, const char *title, const char *state, struct live *live, size_t top)
{
    print_head(out, title, state, live);
    print_devices(out, live);
    print_rates(out, live);
    print_iterations(out, live);
    print_sums(out, "Kernel", live, &live->kernels, kernel_name, top);
    print_sums(out, "Layer (innermost NVTX range of the launch)", live, &live->layers, layer_name,
               top);
}

/* ---- CSV ---- */

/* A row: the program, and one of its devices. */
struct csv_line {
    const struct live *live;
    const char *state;
    const struct live_device *device; /* NULL: there is none */
    double kernels;                   /* a second */
    double copies[LIVE_DIRECTIONS];   /* bytes a second */
    uint64_t iterations;              /* 0: the next three are not known */
    uint64_t mean, p50, p99;          /* ns */
    double busy;                      /* percent */
};

#define OF(member)    MEMBER(struct csv_line, member)
#define LIVE(member)  THROUGH(struct csv_line, live, member)
#define IF_ITERATIONS WHEN(struct csv_line, iterations)

static struct report_cell busy_cell(const void *at, struct report_table *table)
{
    const struct csv_line *line = at;

    (void)table;
    return report_real_if(line->device, line->busy);
}

static const struct report_column csv_columns[] = {
    COLUMN("Time", NULL, TIME, 0, LIVE(elapsed_ns)),
    COLUMN("Interval", NULL, TIME, 0, LIVE(interval_ns)),
    COLUMN("State", NULL, TEXT, 0, OF(state)),
    COLUMN("Records read", "records_read", COUNT, 0, LIVE(records)),
    COLUMN("Dropped", NULL, COUNT, 0, LIVE(dropped)),
    COLUMN("Kernels", NULL, REAL, 0, OF(kernels), .unit = "1/s"),
    COLUMN("HtoD", NULL, THROUGHPUT, 0, OF(copies[LIVE_TO_DEVICE])),
    COLUMN("DtoH", NULL, THROUGHPUT, 0, OF(copies[LIVE_TO_HOST])),
    COLUMN("Other copies", NULL, THROUGHPUT, 0, OF(copies[LIVE_OTHER])),
    COLUMN("Iterations", NULL, COUNT, 0, OF(iterations)),
    COLUMN("Avg", "mean_ns", TIME, 0, OF(mean), IF_ITERATIONS),
    COLUMN("P50", NULL, TIME, 0, OF(p50), IF_ITERATIONS),
    COLUMN("P99", NULL, TIME, 0, OF(p99), IF_ITERATIONS),
    COLUMN("Device", NULL, ID, 0, THROUGH(struct csv_line, device, device)),
    COLUMN("Busy", NULL, PERCENT, 0, .cell = busy_cell),
};

void print_live_csv_begin(struct report_table *table, struct report_sheet *sheet)
{
    const struct report_out csv = {.file = stderr, .format = REPORT_CSV, .sheet = sheet};

    report_open(table, &csv, &(struct report_layout){REPORT_COLUMNS(csv_columns)});
    report_header(table);
}

void print_live_csv(struct report_table *table, const char *state, const struct live *live)
{
    const struct live_step *step = live_iteration(live);
    struct csv_line line = {
        .live = live, .state = state, .kernels = per_second(live->kernels.all.last_count, live)};

    for (int i = 0; i < LIVE_DIRECTIONS; i++)
        line.copies[i] = per_second(live->copies[i].last_bytes, live);
    if (step && step->last_count) {
        line.iterations = step->last_count;
        line.mean = mean_of(step->last_sum, step->last_count);
        line.p50 = mp_histogram_percentile(&step->last_lengths, 50);
        line.p99 = mp_histogram_percentile(&step->last_lengths, 99);
    }
    for (size_t i = 0; i < live->device_count; i++) {
        line.device = &live->devices[i];
        line.busy = percent_of(line.device->last_busy, live->interval_ns);
        report_put(table, &line);
    }
    if (!live->device_count)
        report_put(table, &line);
}

/* ---- JSON ---- */

static void json_counters(struct json_writer *json, const struct live *live, uint64_t device)
{
    const struct live_counter *counter;
    size_t position = 0;

    json_key_array(json, "counters");
    while ((counter = live_next_counter(live, device, &position)))
        JSON_OBJECT(json, FACT("counter", definitions_text(&live->definitions, counter->name)),
                    FACT("unit", counters_unit_name(counter->unit)), FACT("mean", counter->mean));
    json_close_array(json);
}

static void json_devices(struct json_writer *json, const struct live *live)
{
    json_key_array(json, "devices");
    for (size_t i = 0; i < live->device_count; i++) {
        const struct live_device *device = &live->devices[i];

        json_open_object(json);
        JSON_FACTS(json, FACT("device", device->device),
                   FACT("name", device_name(live, device->device)),
                   FACT("busy_percent", percent_of(device->last_busy, live->interval_ns)),
                   FACT("busy_percent_all", percent_of(device->busy, live->span_ns)),
                   FACT("busy_ns", device->last_busy), FACT("busy_ns_all", device->busy));
        json_counters(json, live, device->device);
        json_close_object(json);
    }
    json_close_array(json);
}

static void json_copies(struct json_writer *json, const struct live *live)
{
    json_key_object(json, "copies");
    for (int i = 0; i < LIVE_DIRECTIONS; i++) {
        const struct live_copies *copies = &live->copies[i];

        JSON_KEY_OBJECT(json, directions[i], FACT("count", copies->last_count),
                        FACT("bytes", copies->last_bytes),
                        FACT("bytes_per_second", per_second(copies->last_bytes, live)),
                        FACT("count_all", copies->count), FACT("bytes_all", copies->bytes));
    }
    json_close_object(json);
}

static void json_lengths(struct json_writer *json, const char *key, uint64_t count, uint64_t sum,
                         const struct mp_histogram *lengths)
{
    JSON_KEY_OBJECT(json, key, FACT("count", count), FACT("mean_ns", mean_of(sum, count)),
                    FACT("p50_ns", mp_histogram_percentile(lengths, 50)),
                    FACT("p99_ns", mp_histogram_percentile(lengths, 99)));
}

static void json_iterations(struct json_writer *json, const struct live *live)
{
    const struct live_step *step = live_iteration(live);

    if (!step) {
        JSON_FACTS(json, json_fact_null("iterations"));
        return;
    }
    json_key_object(json, "iterations");
    JSON_FACTS(json, FACT("name", definitions_text(&live->definitions, step->name)),
               FACT("domain", definitions_text(&live->definitions, step->domain)),
               FACT("newest_ns", step->newest));
    json_lengths(json, "now", step->last_count, step->last_sum, &step->last_lengths);
    json_lengths(json, "all", step->count, step->sum, &step->lengths);
    json_close_object(json);
}

static void json_sums(struct json_writer *json, const char *key, struct live *live,
                      const struct live_sums *sums,
                      const char *(*name_of)(struct live *, const struct live_sum *), size_t room)
{
    const struct live_sum *top[PRINT_LIVE_MAX];
    size_t count = live_top(sums, top, room < PRINT_LIVE_MAX ? room : PRINT_LIVE_MAX);

    json_key_array(json, key);
    for (size_t i = 0; i < count; i++)
        JSON_OBJECT(json, FACT("name", name_of(live, top[i])),
                    FACT("domain", definitions_text(&live->definitions, top[i]->domain)),
                    FACT("percent", percent_of(top[i]->last_ns, sums->all.last_ns)),
                    FACT("ns", top[i]->last_ns), FACT("count", top[i]->last_count),
                    FACT("percent_all", percent_of(top[i]->ns, sums->all.ns)),
                    FACT("ns_all", top[i]->ns), FACT("count_all", top[i]->count));
    json_close_array(json);
}

void print_live_json(FILE *out, const struct mp_trace *trace, const char *state, struct live *live,
                     size_t top)
{
    const char *pid = mp_trace_property(trace, "pid");
    struct json_writer json;

    json_open_document(&json, out, 0);
    JSON_FACTS(&json, FACT("state", state), FACT("pid", pid),
               FACT("interval_ns", live->interval_ns), FACT("read_span_ns", live->span_ns),
               FACT("elapsed_ns", live->elapsed_ns), FACT("bytes", live->bytes),
               FACT("records_read", live->records), FACT("dropped", live->dropped),
               FACT("kernels_per_second", per_second(live->kernels.all.last_count, live)),
               FACT("kernel_count", live->kernels.all.last_count),
               FACT("kernel_count_all", live->kernels.all.count),
               FACT("unlaunched_all", live->unlaunched));
    json_devices(&json, live);
    json_copies(&json, live);
    json_iterations(&json, live);
    json_sums(&json, "kernels", live, &live->kernels, kernel_name, top);
    json_sums(&json, "layers", live, &live->layers, layer_name, top);
    json_close_document(&json);
}
