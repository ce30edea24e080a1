/* `miniprof diff`: two traces, or two folders of repeated runs, compared name by name. It loads
 * one side after the other, so memory is that of the larger side.
 */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/options.h"
#include "cli/outputs.h"
#include "cli/terminal.h"
#include "page/page.h"
#include "reports/common/iterations_by.h"
#include "reports/diff/diff.h"
#include "reports/diff/print.h"

#include "base/poison.h"

struct diff_values {
    struct report_values report;
    struct iterations_values iterations;
    const char *fail_above;
    const char *html;
    bool shapes;
    bool positions;
    bool all;
};

#define FIELD(name) offsetof(struct diff_values, name)
static const struct option_spec specs[] = {
    ITERATIONS_OPTION(FIELD(iterations)),
    ITERATIONS_ALIAS(FIELD(iterations), "by"),
    {.name = "shapes",
     .kind = OPTION_FLAG,
     .offset = FIELD(shapes),
     .help = "kernels by name and launch shape"},
    {.name = "positions",
     .kind = OPTION_FLAG,
     .offset = FIELD(positions),
     .help = "all kernels of the median iterations side by side, not only those that differ"},
    {.name = "all",
     .kind = OPTION_FLAG,
     .offset = FIELD(all),
     .help = "also rows that did not change; in CSV and JSON they are there always"},
    {.name = "fail-above",
     .argument = "PERCENT",
     .kind = OPTION_TEXT,
     .offset = FIELD(fail_above),
     .help = "exit code 1 if the latency of B is higher by more than PERCENT, such as 3%, and not "
             "by chance"},
    {.name = "html",
     .argument = "FILE",
     .kind = OPTION_TEXT,
     .offset = FIELD(html),
     .help = "a page to look at in a browser, one file that loads nothing, and the verdict in "
             "text; - is the standard output, without the text"},
    REPORT_AS_RECORDED_OPTION(FIELD(report)),
    REPORT_RANGE_OPTION(FIELD(report), "only iterations that begin in capture range N"),
    REPORT_DEMANGLING_OPTION(FIELD(report)),
    REPORT_CSV_OPTION(FIELD(report)),
    REPORT_TABLE_OPTION(FIELD(report), "latency, times, counts, positions and layers"),
    REPORT_JSON_OPTION(FIELD(report)),
    REPORT_LINES_OPTION(FIELD(report)),
    REPORT_UNITS_OPTION(FIELD(report)),
    REPORT_TOP_OPTION(FIELD(report)),
    REPORT_VIEW_OPTIONS(FIELD(report)),
};
#undef FIELD

static const struct option_set set = {
    .command = "diff",
    .synopsis = "[options] A B | A... -- B...",
    .purpose = "Compares two traces, or two sets of traces of repeated runs: how long an iteration "
               "takes, and which kernels were added, removed, slower or faster. A side is a "
               "trace, a folder of traces, or several of them before and after --.",
    .notes = "Exit code: 0 fine, 1 slower than --fail-above allows or a trace is not whole (lines "
             "of the report say which), 2 wrong usage, no such iterations, 3 a "
             "trace cannot be read or the page not written.",
    .specs = specs,
    .count = sizeof specs / sizeof *specs,
};

/* ---- The command line ---- */

/* What stands on one side of `--`. */
struct arguments {
    char **items;
    int count;
};

/* `3%` or `3`; false for what is no percentage from 0 on. */
static bool parse_percent(const char *text, double *percent)
{
    char *end;

    if (!text || !((*text >= '0' && *text <= '9') || *text == '.'))
        return false;
    *percent = strtod(text, &end);
    if (*end == '%')
        end++;
    return end > text && !*end && isfinite(*percent) && !strpbrk(text, "xXpPeE");
}

/* The first `--` from `from` on; argc: there is none. */
static int find_split(int argc, char **argv, int from)
{
    while (from < argc && strcmp(argv[from], "--") != 0)
        from++;
    return from;
}

/* Options may stand on both sides of `--`, and getopt does not say where the `--` was. */
static enum options_result parse_sides(int argc, char **argv, struct diff_values *values,
                                       struct arguments sides[DIFF_SIDES])
{
    int split = find_split(argc, argv, 1);
    int first;

    if (find_split(argc, argv, split + 1) < argc) {
        complain(set.command, "'--' stands once, between the traces of A and those of B");
        return OPTIONS_WRONG;
    }
    enum options_result result = options_parse(&set, split, argv, values, &first);
    if (result != OPTIONS_OK)
        return result;
    sides[DIFF_A] = (struct arguments){argv + first, split - first};
    sides[DIFF_B] = (struct arguments){NULL, 0};
    if (split < argc) {
        result = options_parse(&set, argc - split, argv + split, values, &first);
        sides[DIFF_B] = (struct arguments){argv + split + first, argc - split - first};
    } else if (sides[DIFF_A].count == 2) {
        sides[DIFF_B] = (struct arguments){argv + first + 1, 1};
        sides[DIFF_A].count = 1;
    }
    return result;
}

static bool check_sides(const struct arguments sides[DIFF_SIDES], bool split)
{
    if (sides[DIFF_A].count && sides[DIFF_B].count)
        return true;
    if (split)
        complain(set.command, "no trace %s '--'", sides[DIFF_A].count ? "behind" : "before");
    else if (sides[DIFF_A].count > 2)
        complain(set.command, "%d traces: which are A and which B? 'miniprof diff A... -- B...'",
                 sides[DIFF_A].count);
    else
        complain(set.command, "which traces? 'miniprof diff A.mpt B.mpt'");
    return false;
}

/* ---- The comparison ---- */

struct making {
    struct report_out out;
    struct diff_options options;
    struct diff_report report;
    const char *html; /* where the page goes; NULL: no page */
    const struct trace_set *sets;
};

static int exit_code_of(const struct making *making)
{
    const struct diff *diff = making->report.diff;

    if (!diff_is_whole(diff))
        return EXIT_FINDINGS;
    return making->report.fail_above && diff_is_above(diff, making->report.allowed) ? EXIT_FINDINGS
                                                                                    : EXIT_FINE;
}

static const char **paths_of(const struct trace_set *traces)
{
    const char **paths = calloc(traces->count + 1, sizeof *paths);

    for (size_t i = 0; paths && i < traces->count; i++)
        paths[i] = traces->processes[i].path;
    return paths;
}

/* Prints to `page` or, without one, as a report; returns the exit code. */
static int print(struct making *making, FILE *page)
{
    struct mp_error error;

    if (!page) {
        print_diff(&making->out, &making->report);
        return exit_code_of(making);
    }
    if (html_diff_write(page, &making->report, &error) != MP_OK) {
        complain(set.command, "%s", error.text);
        return EXIT_UNREADABLE;
    }
    if (page != stdout)
        print_diff_verdict(making->out.file, &making->report);
    return exit_code_of(making);
}

static int compare_and_print(void *context, FILE *page)
{
    struct making *making = context;
    const struct trace_set *sets = making->sets;
    const char **a = paths_of(&sets[DIFF_A]);
    const char **b = paths_of(&sets[DIFF_B]);
    enum mp_status status = MP_ERR_MEMORY;
    struct mp_error error = {.text = "out of memory"};
    struct diff diff;
    int code;

    progress_begin(sets[DIFF_A].processes[0].path);
    if (a && b)
        status = diff_build(a, sets[DIFF_A].count, b, sets[DIFF_B].count, &making->options, &diff,
                            &error);
    progress_end();
    if (!status) {
        making->report.diff = &diff;
        code = print(making, page);
        making->report.diff = NULL;
        diff_free(&diff);
    } else {
        complain(set.command, "%s", error.text);
        code = status == MP_ERR_ARGUMENT ? EXIT_USAGE : EXIT_UNREADABLE;
    }
    free(a);
    free(b);
    return code;
}

static int open_and_compare(struct making *making, const struct arguments sides[DIFF_SIDES])
{
    struct trace_set sets[DIFF_SIDES];
    int codes[DIFF_SIDES];
    int code = EXIT_FINE;

    if (!open_trace_set(set.command, sides[DIFF_A].count, sides[DIFF_A].items, &sets[DIFF_A],
                        &codes[DIFF_A]))
        return codes[DIFF_A];
    if (!open_trace_set(set.command, sides[DIFF_B].count, sides[DIFF_B].items, &sets[DIFF_B],
                        &codes[DIFF_B])) {
        trace_set_free(&sets[DIFF_A]);
        return codes[DIFF_B];
    }
    making->sets = sets;
    code = making->html ? page_write(set.command, making->html, compare_and_print, making)
                        : compare_and_print(making, NULL);
    making->sets = NULL;
    for (int side = 0; side < DIFF_SIDES; side++) {
        code = worse_code(code, codes[side]);
        trace_set_free(&sets[side]);
    }
    return code;
}

static bool set_up(struct making *making, struct diff_values *values)
{
    if (values->html && values->report.format != REPORT_TEXT) {
        complain(set.command, "--html takes the place of --csv and --json");
        return false;
    }
    if (!report_out_open(set.command, &values->report, &making->out))
        return false;
    iterations_by(values->iterations.how, &making->options.iterations);
    if (values->fail_above && !parse_percent(values->fail_above, &making->report.allowed)) {
        complain(set.command, "--fail-above is a percentage such as 3%%, not '%s'",
                 values->fail_above);
        return false;
    }
    making->options.iterations.range = values->report.range;
    making->options.style = report_style(&values->report);
    making->options.shapes = values->shapes;
    making->report.fail_above = values->fail_above != NULL;
    making->report.all = values->all;
    making->report.positions = values->positions;
    making->html = values->html;
    return true;
}

int cmd_diff(int argc, char **argv)
{
    struct diff_values values = {.report = REPORT_PRESET};
    struct making making = {.out = {.file = stdout}};
    struct arguments sides[DIFF_SIDES];
    enum options_result result = parse_sides(argc, argv, &values, sides);

    if (result != OPTIONS_OK)
        return result == OPTIONS_DONE ? EXIT_FINE : EXIT_USAGE;
    if (!set_up(&making, &values) || !check_sides(sides, sides[DIFF_B].items != NULL))
        return EXIT_USAGE;
    if (!report_streams_open(set.command, &making.out, false))
        return EXIT_UNREADABLE;
    return report_streams_close(set.command, &making.out, open_and_compare(&making, sides));
}
