/* `miniprof layers`: device time by the NVTX range that launched it, or by the position in a
 * sequence that repeats.
 */
#include <stdbool.h>
#include <stdint.h>
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

    struct layers_options options; /* these three from those above */
    struct iterations_options by;
    bool by_way; /* iterations are found as iters finds them */
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

static enum mp_status print_result(const struct layers_values *values, const struct mp_trace *trace,
                                   const struct layers_result *result,
                                   const struct counters_brief *sampled, struct mp_error *error)
{
    const struct layers_report layers = {
        .trace = trace,
        .result = result,
        .options = &values->options,
        .sampled = sampled,
        .top = values->top,
        .tree = values->tree,
        .kernels = values->kernels,
    };

    if (print_layers(&values->report.out, &layers) != MP_OK)
        return mp_error_set(error, MP_ERR_MEMORY, "out of memory");
    return MP_OK;
}

static enum mp_status build(const struct layers_values *values, struct profile *profile,
                            struct layers_result *result, struct mp_error *error)
{
    struct layers_options options = values->options;
    struct layers_iterations found;
    uint64_t *correlations = NULL;
    enum mp_status status = MP_OK;

    if (values->by_way) {
        status = iterations_as_work(profile->trace, &values->by, &found, &correlations, error);
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
    const struct layers_values *values = context;
    struct counters_brief *sampled = NULL;
    struct layers_result result = {.count = 0};
    struct profile profile;

    MP_TRY(profile_load(&profile, trace, DEFINITIONS_USUAL, error));
    enum mp_status status = build(values, &profile, &result, error);
    if (!status)
        status = counters_of_layers(trace, &values->options, &result, &sampled, error);
    if (!status)
        status = print_result(values, trace, &result, sampled, error);
    free(sampled);
    *whole = quality_is_whole(&result.quality);
    layers_free(&result);
    profile_free(&profile);
    return status;
}

/* `nvtx:NAME` is what other commands take for NAME. */
static const char *range_name(const char *how)
{
    static const char way[] = "nvtx:";
    size_t length = strlen(way);

    return how && !strncmp(how, way, length) && how[length] ? how + length : how;
}

static bool layers_options_agree(void *context)
{
    struct layers_values *values = context;

    if (!options_agree(set.command,
                       values->by_position && (values->tree || values->iterations ||
                                               values->domain || values->merge_numbers),
                       "--by-position goes with none of --tree, --iterations, --domain and "
                       "--merge-numbers") ||
        !options_agree(set.command, values->tree && values->top, "--top does not go with --tree") ||
        !options_agree(set.command, values->tree && values->report.view.sort,
                       "--sort does not go with --tree"))
        return false;
    if (values->report.view.sort && values->top) { /* the first ones of another order */
        view_top(&values->report.out, values->top);
        values->top = 0;
    }
    values->options = (struct layers_options){.range = values->report.range,
                                              .style = report_style(&values->report),
                                              .domain = values->domain,
                                              .iteration = range_name(values->iterations),
                                              .merge_numbers = values->merge_numbers,
                                              .all = values->all,
                                              .by_position = values->by_position};
    values->by_way = iterations_by_parse(values->iterations, &values->by);
    values->by.range = values->report.range;
    return true;
}

int cmd_layers(int argc, char **argv)
{
    struct layers_values values = {.report = REPORT_PRESET};

    return report_command(&set, argc, argv, &values, &values.report, layers_options_agree,
                          report_layers);
}
