/* `miniprof export`: traces in the formats of other tools. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/text/strings.h"
#include "cli/command.h"
#include "cli/options.h"
#include "export/exports.h"
#include "reports/common/iterations_by.h"

#include "base/poison.h"

struct export_values {
    struct report_values report;
    struct iterations_values iterations;
    const char *to;
    const char *output;
    const char *devices;
    const char *analysis;
    const char *job;
    const char *own[EXPORT_MAX_OWN]; /* options of single formats, in the order of the formats */
    bool force;
    bool events;
};

#define FIELD(name) offsetof(struct export_values, name)
static const struct option_spec common[] = {
    {.name = "to",
     .argument = "FORMAT",
     .kind = OPTION_TEXT,
     .offset = FIELD(to),
     .help = "the format; 'miniprof export' lists them"},
    {.name = "output",
     .letter = 'o',
     .argument = "OUT",
     .kind = OPTION_TEXT,
     .offset = FIELD(output),
     .help = "where it goes; - is the standard output; default: beside the trace or folder, with "
             "the format's ending"},
    {.name = "force",
     .letter = 'f',
     .kind = OPTION_FLAG,
     .offset = FIELD(force),
     .help = "replace OUT if it exists"},
    {.name = "table",
     .argument = "KIND",
     .kind = OPTION_TEXT,
     .offset = FIELD(report) + offsetof(struct report_values, table),
     .help = "csv: only rows of this kind, in a file instead of a folder"},
    {.name = "events",
     .kind = OPTION_FLAG,
     .offset = FIELD(events),
     .help = "parquet: tables with a row for each kernel, copy, call and range too"},
    {.name = "job",
     .argument = "NAME",
     .kind = OPTION_TEXT,
     .offset = FIELD(job),
     .help = "parquet: the job of the traces; default: the program's name"},
    REPORT_RANGE_OPTION(FIELD(report), "only capture range N; without it, everything"),
    {.name = "devices",
     .argument = "N,...",
     .kind = OPTION_TEXT,
     .offset = FIELD(devices),
     .help = "only work of these devices, and what launched it"},
    ITERATIONS_OPTION(FIELD(iterations)),
    {.name = "iteration",
     .argument = "N|N..M",
     .kind = OPTION_TEXT,
     .offset = FIELD(iterations) + offsetof(struct iterations_values, one),
     .help = "only what belongs to iteration N, or to N to M"},
    {.name = "analysis",
     .argument = "on|off",
     .kind = OPTION_TEXT,
     .offset = FIELD(analysis),
     .help = "iterations, dependencies and the critical path, which take 100 bytes of memory for "
             "each row; default: as the format needs them"},
    REPORT_DEMANGLING_OPTION(FIELD(report)),
};
#define COMMON (sizeof common / sizeof *common)

/* ---- Formats ---- */

static const struct export_format *const all_formats[] = {
#define ADDRESS(format) &export_##format,
    EXPORT_FORMATS(ADDRESS)
#undef ADDRESS
};

#define ONE_MORE(format) +1
enum { FORMATS = EXPORT_FORMATS(ONE_MORE) };
#undef ONE_MORE

const struct export_format *const *export_formats(size_t *count)
{
    *count = FORMATS;
    return all_formats;
}

static const struct option_set set = {
    .command = "export",
    .synopsis = "--to FORMAT [options] TRACE|FOLDER...",
    .purpose = "Writes traces in the format of another tool. Several traces come on one clock.",
    .notes = "Exit code: 0 fine, 1 a trace is not whole and the rest was written, 2 wrong usage, 3 "
             "a trace cannot be read or OUT not written.",
};

/* All options: those of single formats come before the last common one. */
static size_t list_options(struct option_spec specs[OPTIONS_MAX])
{
    size_t count = COMMON - 1, own = 0;

    memcpy(specs, common, sizeof common);
    for (size_t i = 0; i < FORMATS; i++) {
        const struct export_option *option = all_formats[i]->options;

        for (; option && option->name && own < EXPORT_MAX_OWN; option++, own++)
            specs[count++] = (struct option_spec){.name = option->name,
                                                  .argument = option->argument,
                                                  .kind = OPTION_TEXT,
                                                  .offset = FIELD(own) + own * sizeof(char *),
                                                  .help = option->help};
    }
    specs[count++] = common[COMMON - 1];
    return count;
}
#undef FIELD

/* ---- The command line ---- */

static const struct export_format *find_format(const char *key)
{
    struct mp_meant meant = {.typed = key};
    size_t count;
    const struct export_format *const *formats = export_formats(&count);

    for (size_t i = 0; i < count; i++) {
        if (!strcmp(formats[i]->key, key))
            return formats[i];
        mp_meant_offer(&meant, formats[i]->key);
    }
    if (mp_meant_name(&meant))
        complain(set.command, "unknown format '%s'; did you mean '%s'?", key,
                 mp_meant_name(&meant));
    else
        complain(set.command, "unknown format '%s'; 'miniprof export' lists them", key);
    return NULL;
}

/* Lists them on stderr, because the command line is wrong. */
static void list_formats(void)
{
    size_t count;
    const struct export_format *const *formats = export_formats(&count);

    complain(set.command, "to which format? 'miniprof export --to FORMAT TRACE.mpt'");
    for (size_t i = 0; i < count; i++)
        fprintf(stderr, "  %-13s%s\n", formats[i]->key, formats[i]->help);
}

static bool read_devices(const char *text, uint64_t *devices)
{
    const char *cursor = text;
    const char *item;
    size_t bytes;

    while (text && mp_text_next_item(&cursor, &item, &bytes)) {
        char number[8] = "";
        uint64_t device;

        snprintf(number, sizeof number, "%.*s", (int)(bytes < 7 ? bytes : 7), item);
        if (!mp_text_to_u64(number, 0, 63, &device)) {
            complain(set.command, "--devices takes numbers from 0 to 63, as in 0,1; not '%s'",
                     text);
            return false;
        }
        *devices |= UINT64_C(1) << device;
    }
    return true;
}

/* Takes `3` or `3..5`. */
static bool read_iterations(const char *text, struct export_options *options)
{
    const char *dots = text ? strstr(text, "..") : NULL;
    char first[24] = "";
    uint64_t *from = &options->iterations_from;

    if (!text)
        return true;
    bool fits = mp_text_copy(first, sizeof first, text);
    if (dots && dots - text < (ptrdiff_t)sizeof first) {
        first[dots - text] = '\0';
        fits = true;
    }
    if (fits && mp_text_to_u64(first, 1, UINT32_MAX, from) &&
        mp_text_to_u64(dots ? dots + 2 : first, *from, UINT32_MAX, &options->iterations_until))
        return true;
    complain(set.command, "--iteration takes a number from 1, or two as in 3..5; not '%s'", text);
    return false;
}

static bool read_analysis(const struct export_values *values, const struct export_format *format,
                          struct export_options *options)
{
    bool wanted = values->iterations.one || values->iterations.how;

    options->analyses = format->analyses || wanted;
    if (!values->analysis)
        return true;
    if (strcmp(values->analysis, "on") != 0 && strcmp(values->analysis, "off") != 0) {
        complain(set.command, "--analysis takes on or off, not '%s'", values->analysis);
        return false;
    }
    options->analyses = !strcmp(values->analysis, "on");
    return options_agree(set.command, wanted && !options->analyses,
                         "--iteration and --iterations need --analysis on");
}

static bool read_table(const char *table, const struct export_format *format,
                       struct export_options *options)
{
    struct mp_meant meant = {.typed = table ? table : ""};

    if (!table)
        return true;
    if (!options_agree(set.command, !format->folder || format->lazy, "--table goes with --to csv"))
        return false;
    for (int i = 0; i < EXPORT_KINDS; i++) {
        const char *key = export_kind_key((enum export_kind)i);

        if (!strcmp(key, table))
            options->kinds = 1u << i;
        mp_meant_offer(&meant, key);
    }
    if (options->kinds)
        return true;
    complain(set.command, "there is no table '%s'%s%s%s", table,
             mp_meant_name(&meant) ? "; did you mean '" : "",
             mp_meant_name(&meant) ? mp_meant_name(&meant) : "", mp_meant_name(&meant) ? "'?" : "");
    return false;
}

/* Says "--weight and --frames go with --to folded". */
static bool complain_of_own(const struct export_format *format)
{
    const struct export_option *option = format->options;
    char names[256] = "";
    size_t used = 0;

    for (; option->name && used < sizeof names; option++)
        used += (size_t)snprintf(names + used, sizeof names - used, "%s--%s",
                                 !used            ? ""
                                 : option[1].name ? ", "
                                                  : " and ",
                                 option->name);
    complain(set.command, "%s %s with --to %s", names, option - format->options > 1 ? "go" : "goes",
             format->key);
    return false;
}

/* Takes the options of single formats, as list_options has numbered them. */
static bool take_own(const struct export_values *values, struct export_job *job)
{
    const char *const *value = values->own;

    for (size_t i = 0; i < FORMATS; i++) {
        const struct export_option *option = all_formats[i]->options;

        for (; option && option->name; option++, value++) {
            if (!*value)
                continue;
            if (all_formats[i] != job->format)
                return complain_of_own(all_formats[i]);
            job->settings[job->setting_count++] = (struct export_setting){option->name, *value};
        }
    }
    return true;
}

/* ---- Writing ---- */

static int run(struct export_job *job, int count, char **arguments)
{
    struct trace_set traces;
    int code;

    if (!open_trace_set(set.command, count, arguments, &traces, &code))
        return code;
    int written = export_set(job, &traces, count == 1 ? arguments[0] : NULL);
    trace_set_free(&traces);
    return worse_code(code, written);
}

int cmd_export(int argc, char **argv)
{
    struct export_values values = {.report = REPORT_PRESET};
    struct iterations_options how = {.way = ITERATIONS_AUTO};
    struct export_job job = {.command = set.command};
    struct option_spec specs[OPTIONS_MAX];
    struct option_set whole = set;
    int first;

    whole.specs = specs;
    whole.count = list_options(specs);
    enum options_result result = options_parse(&whole, argc, argv, &values, &first);
    if (result != OPTIONS_OK)
        return result == OPTIONS_DONE ? EXIT_FINE : EXIT_USAGE;
    if (!values.to) {
        list_formats();
        return EXIT_USAGE;
    }
    job.format = find_format(values.to);
    if (!job.format || !read_devices(values.devices, &job.options.devices) ||
        !read_iterations(values.iterations.one, &job.options) ||
        !read_analysis(&values, job.format, &job.options) ||
        !read_table(values.report.table, job.format, &job.options) ||
        !options_agree(set.command,
                       (values.events || values.job) && strcmp(values.to, "parquet") != 0,
                       "--events and --job go with --to parquet") ||
        !take_own(&values, &job))
        return EXIT_USAGE;
    if (first == argc) {
        complain(set.command, "which trace? 'miniprof export --to %s TRACE.mpt'", values.to);
        return EXIT_USAGE;
    }
    iterations_by(values.iterations.how, &how);
    job.options.how = values.iterations.how ? &how : NULL;
    job.output = values.output;
    job.table = values.report.table;
    job.force = values.force;
    job.options.events = values.events;
    job.options.job = values.job;
    job.options.range = values.report.range;
    job.options.style = report_style(&values.report);
    return run(&job, argc - first, argv + first);
}
