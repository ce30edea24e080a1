/* `miniprof layers`: device time by the NVTX range that launched it, or by the position in a
 * sequence that repeats.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/options.h"
#include "reports/common/iterations_by.h"
#include "reports/counters/counters.h"
#include "reports/layers/layers.h"
#include "reports/layers/print.h"

#include "base/poison.h"

struct layers_values {
    struct report_values report;
    uint64_t top; /* 0: not asked for */
    const char *domain;
    const char *iterations;
    bool tree;
    bool kernels;
    bool all;
    bool merge_numbers;
    bool by_position;
};

#define FIELD(name) offsetof(struct layers_values, name)
static const struct option_spec specs[] = {
    {.name = "tree",
     .kind = OPTION_FLAG,
     .offset = FIELD(tree),
     .help = "layers below those they are nested in, instead of by total time"},
    {.name = "kernels",
     .kind = OPTION_FLAG,
     .offset = FIELD(kernels),
     .help = "below each layer the kernels and copies launched in it"},
    {.name = "iterations",
     .argument = "NAME|HOW",
     .kind = OPTION_TEXT,
     .offset = FIELD(iterations),
     .help = "only what was launched inside NVTX ranges of this name, or in the iterations as "
             "iters finds them, such as auto or requests; percentages are of that"},
    OPTION_ALIAS("iteration", "NAME|HOW", FIELD(iterations)),
    {.name = "domain",
     .argument = "NAME",
     .kind = OPTION_TEXT,
     .offset = FIELD(domain),
     .help = "only NVTX ranges of this domain; an empty name is the default one"},
    {.name = "merge-numbers",
     .kind = OPTION_FLAG,
     .offset = FIELD(merge_numbers),
     .help = "names that differ in the numbers or [...] at their end are one layer"},
    {.name = "all",
     .kind = OPTION_FLAG,
     .offset = FIELD(all),
     .help = "layers that launched nothing too"},
    {.name = "by-position",
     .kind = OPTION_FLAG,
     .offset = FIELD(by_position),
     .help = "kernels by their position in the sequence that repeats, as without NVTX ranges"},
    {.name = "top",
     .argument = "N",
     .kind = OPTION_NUMBER,
     .offset = FIELD(top),
     .help = "the N layers that cost most"},
    REPORT_RANGE_OPTION(FIELD(report), "only what was launched in capture range N"),
    REPORT_CSV_OPTION(FIELD(report)),
    REPORT_TABLE_OPTION(FIELD(report), "positions, types, precisions and marks"),
    REPORT_JSON_OPTION(FIELD(report)),
    REPORT_LINES_OPTION(FIELD(report)),
    REPORT_DEMANGLING_OPTION(FIELD(report)),
    REPORT_UNITS_OPTION(FIELD(report)),
    REPORT_VIEW_OPTIONS(FIELD(report)),
};
#undef FIELD

static const struct option_set set = {
    .command = "layers",
    .synopsis = "[options] TRACE|FOLDER...",
    .purpose = "Prints which layer costs what: device time by the NVTX ranges that launched it, "
               "nested and through CUDA graphs; what TensorRT says of its layers; without NVTX "
               "ranges, kernels by their position in the sequence that repeats.",
    .notes = REPORT_EXIT_CODES,
    .specs = specs,
    .count = sizeof specs / sizeof *specs,
};

struct reporting {
    struct report_out out;
    struct layers_options options;
    const struct layers_values *values;
    struct iterations_options by;
    bool by_way; /* iterations are found as iters finds them */
};

static enum mp_status print_result(const struct reporting *reporting, const struct mp_trace *trace,
                                   const struct layers_result *result,
                                   const struct counters_brief *sampled, struct mp_error *error)
{
    const struct layers_report layers = {
        .trace = trace,
        .result = result,
        .options = &reporting->options,
        .sampled = sampled,
        .top = reporting->values->top,
        .tree = reporting->values->tree,
        .kernels = reporting->values->kernels,
    };

    if (print_layers(&reporting->out, &layers) != MP_OK)
        return mp_error_set(error, MP_ERR_MEMORY, "out of memory");
    return MP_OK;
}

static enum mp_status build(const struct reporting *reporting, struct profile *profile,
                            struct layers_result *result, struct mp_error *error)
{
    struct layers_options options = reporting->options;
    struct layers_iterations found;
    uint64_t *correlations = NULL;
    enum mp_status status = MP_OK;

    if (reporting->by_way) {
        status = iterations_as_work(profile->trace, &reporting->by, &found, &correlations, error);
        options.found = &found;
    }
    if (!status)
        status = layers_build(profile, &options, result, error);
    free(correlations);
    return status;
}

static enum mp_status report_layers(void *context, struct mp_trace *trace, bool *whole,
                                    struct mp_error *error)
{
    const struct reporting *reporting = context;
    struct counters_brief *sampled = NULL;
    struct layers_result result = {.count = 0};
    struct profile profile;

    MP_TRY(profile_load(&profile, trace, DEFINITIONS_USUAL, error));
    enum mp_status status = build(reporting, &profile, &result, error);
    if (!status)
        status = counters_of_layers(trace, &reporting->options, &result, &sampled, error);
    if (!status)
        status = print_result(reporting, trace, &result, sampled, error);
    free(sampled);
    *whole = quality_is_whole(&result.quality);
    layers_free(&result);
    profile_free(&profile);
    return status;
}

static bool layers_options_agree(const struct layers_values *values)
{
    return options_agree(set.command,
                         values->by_position && (values->tree || values->iterations ||
                                                 values->domain || values->merge_numbers),
                         "--by-position goes with none of --tree, --iterations, --domain and "
                         "--merge-numbers") &&
           options_agree(set.command, values->tree && values->top,
                         "--top does not go with --tree") &&
           options_agree(set.command, values->tree && values->report.view.sort,
                         "--sort does not go with --tree");
}

/* `nvtx:NAME` is what other commands take for NAME. */
static const char *range_name(const char *how)
{
    static const char way[] = "nvtx:";
    size_t length = strlen(way);

    return how && !strncmp(how, way, length) && how[length] ? how + length : how;
}

int cmd_layers(int argc, char **argv)
{
    struct layers_values values = {.report = REPORT_PRESET};
    struct reporting reporting = {.out = {.file = stdout}, .values = &values};
    int first, code;

    if (!report_parse(&set, argc, argv, &values, &values.report, &reporting.out, &first, &code))
        return code;
    if (!layers_options_agree(&values))
        return EXIT_USAGE;
    if (values.report.view.sort && values.top) { /* the first ones of another order */
        view_top(&reporting.out, values.top);
        values.top = 0;
    }
    reporting.options = (struct layers_options){.range = values.report.range,
                                                .style = report_style(&values.report),
                                                .domain = values.domain,
                                                .iteration = range_name(values.iterations),
                                                .merge_numbers = values.merge_numbers,
                                                .all = values.all,
                                                .by_position = values.by_position};
    reporting.by_way = iterations_by_parse(values.iterations, &reporting.by);
    reporting.by.range = values.report.range;
    return each_trace(set.command, &reporting.out, argc - first, argv + first, report_layers,
                      &reporting);
}
