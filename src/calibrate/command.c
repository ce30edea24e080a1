/* `miniprof calibrate`: measures what recording costs on this machine, and keeps it for reports. */
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/io.h"
#include "base/text/json.h"
#include "base/text/strings.h"
#include "base/text/units.h"
#include "calibrate/calibrate.h"
#include "cli/command.h"
#include "cli/options.h"
#include "table/table.h"

#include "base/poison.h"

struct calibrate_values {
    struct report_values report;
    uint64_t rounds;
    const char *device;
    const char *library;
    bool no_keep;
};

#define FIELD(name) offsetof(struct calibrate_values, name)
static const struct option_spec specs[] = {
    {.name = "rounds",
     .argument = "N",
     .kind = OPTION_NUMBER,
     .offset = FIELD(rounds),
     .help = "how often to measure, bare and recorded, 1 to 99 (default 5)"},
    {.name = "device",
     .argument = "N",
     .kind = OPTION_TEXT,
     .offset = FIELD(device),
     .help = "the GPU to measure on, as CUDA numbers them (default 0)"},
    {.name = "no-keep",
     .kind = OPTION_FLAG,
     .offset = FIELD(no_keep),
     .help = "only print; the user's file stays as it is"},
    REPORT_CSV_OPTION(FIELD(report)),
    {.name = "json",
     .kind = OPTION_VALUE,
     .value = REPORT_JSON,
     .offset = FIELD(report) + offsetof(struct report_values, format),
     .help = "a JSON document; times in ns"},
    REPORT_LINES_OPTION(FIELD(report)),
    {.name = "library",
     .argument = "FILE",
     .kind = OPTION_TEXT,
     .offset = FIELD(library),
     .help = "the libminiprof.so to measure; default: beside this command or in ../lib"},
};
#undef FIELD

static const struct option_set set = {
    .command = "calibrate",
    .synopsis = "[options]",
    .purpose = "Measures what recording adds to a program on this machine, and keeps it in the "
               "user's cache folder, for reports that name the cost.",
    .notes = "Exit code: 0 fine, 1 measured but not kept, 2 wrong usage, 3 not measured.",
    .specs = specs,
    .count = sizeof specs / sizeof *specs,
};

/* ---- Output ---- */

struct cost_line {
    const char *name, *what;
    double value, min, max;
};

#define OF(member) MEMBER(struct cost_line, member)

static const struct report_column columns[] = {
    COLUMN("Cost", "name", TEXT, 13, OF(name), .left = true),
    COLUMN("Value", "ns", MEAN, 8, OF(value)),
    COLUMN("Least", "least_ns", MEAN, 8, OF(min)),
    COLUMN("Greatest", "greatest_ns", MEAN, 8, OF(max)),
    COLUMN("What", "what", TEXT, 4, OF(what), .left = true),
};

static void each_cost(struct report_table *table, report_take *take)
{
    struct calibration result = *(const struct calibration *)table->of;
    struct cost_line line;
    double *value, *min, *max;

    for (size_t i = 0; costs_at(&result.values, i, &line.name, &value, &line.what); i++) {
        costs_at(&result.min, i, NULL, &min, NULL);
        costs_at(&result.max, i, NULL, &max, NULL);
        line.value = *value;
        line.min = *min;
        line.max = *max;
        take(table, &line);
    }
}

static void print_json(struct calibration *result, const struct report_out *out, uint64_t rounds,
                       const char *place)
{
    const struct report_layout layout = {REPORT_COLUMNS(columns), .of = result};
    struct json_writer json;

    json_open_document(&json, out->file, 2);
    JSON_FACTS(
        &json, FACT("gpu", (const char *)result->gpu), FACT("driver", (uint64_t)result->key.driver),
        FACT("cupti", (uint64_t)result->key.cupti), FACT("rounds", rounds), FACT("kept_in", place));
    report_json_print(&json, "costs", &layout, each_cost);
    json_close_document(&json);
}

static void print_title(const struct calibration *result, const struct report_out *out,
                        uint64_t rounds)
{
    unsigned long driver = result->key.driver;

    fprintf(out->file, "What recording adds, each time: %s, driver %lu.%lu, CUPTI %lu; ",
            result->gpu, driver / 1000, driver % 1000 / 10, result->key.cupti);
    if (rounds == 1)
        fputs("one round\n", out->file);
    else
        fprintf(out->file, "medians of %s rounds\n", mp_count(rounds).text);
}

static void print_table(struct calibration *result, const struct report_out *out, uint64_t rounds,
                        const char *place)
{
    if (out->format == REPORT_TEXT)
        print_title(result, out, rounds);
    report_print(out, &(struct report_layout){REPORT_COLUMNS(columns), .of = result}, each_cost);
    if (out->format == REPORT_TEXT && place)
        fprintf(out->file, "Kept in %s\n", place);
}

static void warn_of_spread(struct calibration *result)
{
    size_t wide = calibration_wide(result);

    if (wide)
        complain(set.command,
                 "warning: %s %s much from round to round: if something else uses the GPU or the "
                 "CPUs, measure again without it, or with --rounds 15",
                 mp_count(wide).text, wide == 1 ? "cost differs" : "costs differ");
}

/* ---- The command ---- */

static bool options_fine(const struct calibrate_values *values, struct calibrate_options *options,
                         int arguments)
{
    uint64_t device = 0;

    if (arguments) {
        complain(set.command, "takes no arguments, only options");
        return false;
    }
    if (values->rounds > CALIBRATE_MAX_ROUNDS) {
        complain(set.command, "--rounds takes a number from 1 to %d", CALIBRATE_MAX_ROUNDS);
        return false;
    }
    if (values->device && !mp_text_to_u64(values->device, 0, INT32_MAX, &device)) {
        complain(set.command, "--device takes a number from 0 on, not '%s'", values->device);
        return false;
    }
    *options = (struct calibrate_options){values->rounds, (unsigned)device, values->library};
    return true;
}

/* Keeps the costs and prints them with the place where they are. */
static int keep_and_print(const struct calibrate_values *values, struct report_out *out,
                          struct calibration *result)
{
    char path[PATH_MAX];
    const char *place = NULL;
    struct mp_error error;
    bool failed = false;

    if (!values->no_keep) {
        failed = costs_keep(&result->key, &result->values, &error) != MP_OK;
        if (!failed && mp_costs_path(path, sizeof path))
            place = path;
    }
    if (out->format == REPORT_JSON)
        print_json(result, out, values->rounds, place);
    else
        print_table(result, out, values->rounds, place);
    fflush(stdout);
    warn_of_spread(result);
    if (failed)
        complain(set.command, "the costs could not be kept: %s", error.text);
    return failed ? EXIT_FINDINGS : EXIT_FINE;
}

int cmd_calibrate(int argc, char **argv)
{
    struct calibrate_values values = {.report = REPORT_PRESET, .rounds = 5};
    struct calibrate_options options;
    struct calibration result;
    struct report_out out;
    struct mp_error error;
    int first;

    if (argc > 1 && !strcmp(argv[1], CALIBRATE_PROBE))
        return calibrate_probe(argc - 1, argv + 1);
    enum options_result parsed = options_parse(&set, argc, argv, &values, &first);
    if (parsed != OPTIONS_OK)
        return parsed == OPTIONS_DONE ? EXIT_FINE : EXIT_USAGE;
    if (!options_fine(&values, &options, argc - first) ||
        !report_out_open(set.command, &values.report, &out))
        return EXIT_USAGE;
    if (calibrate(&options, &result, &error) != MP_OK) {
        complain(set.command, "%s", error.text);
        return EXIT_UNREADABLE;
    }
    if (!report_streams_open(set.command, &out, false))
        return EXIT_UNREADABLE;
    return report_streams_close(set.command, &out, keep_and_print(&values, &out, &result));
}
