/* `miniprof html`: one page with the time line and all reports. Analyses that fail leave their
 * part out, and the page says so.
 */
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text/units.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/outputs.h"
#include "cli/program.h"
#include "cli/terminal.h"
#include "page/page.h"

#include "base/poison.h"

/* ---- The browser: it outlives the command, and what it prints is not for the terminal ---- */

extern char **environ;

/* The first name of a list with colons. */
static bool find_first(const char *list, char program[PATH_MAX])
{
    char name[PATH_MAX];
    int length = snprintf(name, sizeof name, "%.*s", (int)strcspn(list, ":"), list);

    return length > 0 && length < PATH_MAX && program_find(name, program);
}

static bool find_browser(char program[PATH_MAX])
{
    static const char *const usual[] = {"xdg-open", "open"};
    const char *wanted = getenv("BROWSER");

    if (wanted && *wanted)
        return find_first(wanted, program);
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) {
        if (program_find(usual[i], program))
            return true;
    }
    return false;
}

static int start(char *program, char *page)
{
    char *arguments[] = {program, page, NULL};
    posix_spawn_file_actions_t files;
    pid_t pid;

    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
    int error = posix_spawn(&pid, program, &files, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&files);
    return error;
}

static bool open_browser(const char *command, const char *page)
{
    char program[PATH_MAX];
    char *copy = strdup(page);

    if (!copy || !find_browser(program)) {
        complain(command, "no browser was found to show '%s': set BROWSER, or install xdg-open",
                 page);
        free(copy);
        return false;
    }
    int error = start(program, copy);
    free(copy);
    if (error)
        complain(command, "cannot run the browser '%s': %s", program, strerror(error));
    return !error;
}

/* ---- The command ---- */

/* A page with this many events is about 30 MB, and a browser takes about 100 MB for it. */
#define USUAL_EVENTS 2000000

struct html_values {
    struct report_values report;
    const char *output;
    uint64_t events;
    bool open;
    bool one_clock;
};

#define FIELD(name) offsetof(struct html_values, name)
static const struct option_spec specs[] = {
    {.name = "output",
     .letter = 'o',
     .argument = "FILE",
     .kind = OPTION_TEXT,
     .offset = FIELD(output),
     .help = "where the page goes; - is the standard output; default: TRACE.html or "
             "FOLDER.html, beside it"},
    {.name = "open",
     .kind = OPTION_FLAG,
     .offset = FIELD(open),
     .help = "show the page in a browser: $BROWSER, else xdg-open"},
    {.name = "events",
     .argument = "N",
     .kind = OPTION_NUMBER,
     .offset = FIELD(events),
     .help = "at most N events in the time line, the first ones (default 2000000)"},
    ONE_CLOCK_OPTION(FIELD(one_clock)),
    REPORT_AS_RECORDED_OPTION(FIELD(report)),
    REPORT_RANGE_OPTION(FIELD(report), "only capture range N; without it, everything"),
    REPORT_DEMANGLING_OPTION(FIELD(report)),
};
#undef FIELD

static const struct option_set set = {
    .command = "html",
    .synopsis = "[options] TRACE|FOLDER...",
    .purpose = "Writes a page to look at in a browser: overview, time line with critical path and "
               "dependencies, and the tables of the other commands. One file that needs nothing "
               "else and loads nothing. Of several traces it shows all processes together.",
    .notes = "Exit code: 0 fine, 1 the trace is not whole, or no browser could be started, 2 wrong "
             "usage, 3 the trace cannot be read or the page not written.",
    .specs = specs,
    .count = sizeof specs / sizeof *specs,
};

struct making {
    const struct html_values *values;
    int count;
    char **arguments;
    int code; /* the worst so far */
};

static void worsen(struct making *making, int code)
{
    making->code = worse_code(making->code, code);
}

static struct html_report_options options_of(const struct html_values *values)
{
    return (struct html_report_options){.range = values->report.range,
                                        .events = values->events ? values->events : USUAL_EVENTS,
                                        .style = report_style(&values->report)};
}

/* What a result says, `who` in front of it; empty for the one trace. */
static void tell(struct making *making, const char *who, const struct html_report_result *result)
{
    if (result->left_out)
        complain(set.command,
                 "%sthe time line holds %s events and leaves out %s"
                 "; --range and --events choose others",
                 who, mp_count(result->events).text, mp_count(result->left_out).text);
    if (!*result->warning)
        return;
    complain(set.command, "%sWarning: %s.", who, result->warning);
    worsen(making, EXIT_FINDINGS);
}

static int write_one(struct making *making, FILE *out, const char *path)
{
    const struct html_report_options options = options_of(making->values);
    struct mp_trace *trace = open_trace(set.command, path);
    struct html_report_result result;
    struct mp_error error;

    if (!trace)
        return EXIT_UNREADABLE;
    progress_begin(path);
    enum mp_status status = html_report_write(out, trace, &options, &result, &error);
    progress_end();
    mp_trace_close(trace);
    if (status != MP_OK)
        return fail_on_trace(set.command, path, &error);
    tell(making, "", &result);
    return making->code;
}

/* ---- Several processes ---- */

static struct mp_trace *open_part(void *context, const char *path)
{
    struct mp_trace *trace = open_trace(set.command, path);

    (void)context;
    if (trace)
        progress_begin(path);
    return trace;
}

static void part_written(void *context, const struct trace_process *process,
                         const struct html_report_result *result)
{
    char who[128];

    progress_end();
    snprintf(who, sizeof who, "%.120s: ", process->label);
    tell(context, who, result);
}

static int write_set(struct making *making, FILE *out, const struct trace_set *traces,
                     struct html_job *of)
{
    struct html_set_options options = {.report = options_of(making->values),
                                       .open = open_part,
                                       .written = part_written,
                                       .context = making};
    const struct trace_process *failed;
    struct mp_error error;

    options.report.job = of;
    if (traces->count == 1)
        return write_one(making, out, traces->processes[0].path);
    if (traces->count > HTML_MAX_PROCESSES)
        complain(set.command, "the page holds %d of %s processes, the first ones",
                 HTML_MAX_PROCESSES, mp_count(traces->count).text);
    enum mp_status status = html_set_write(out, traces, &options, &failed, &error);
    progress_end();
    if (status == MP_OK)
        return making->code;
    if (!error.status && status == MP_ERR_IO)
        return EXIT_UNREADABLE; /* open_trace has said why */
    if (!error.status)
        mp_error_set(&error, status, "cannot make a page: %s", mp_status_name(status));
    return fail_on_trace(set.command, failed->path, &error);
}

/* A folder of ranks whose operations of NCCL match; false: it is none. */
static bool write_job(struct making *making, FILE *out)
{
    const struct html_values *values = making->values;
    const struct job_page_options options = {.command = set.command,
                                             .style = report_style(&values->report),
                                             .range = values->report.range,
                                             .one_clock = values->one_clock};
    struct job_page page;
    bool job = job_page_open(&page, &options, making->count, making->arguments, &making->code);

    if (job)
        worsen(making, write_set(making, out, &page.matched.traces, &page.job));
    job_page_close(&page);
    return job;
}

static int write_page(void *context, FILE *out)
{
    struct making *making = context;
    struct trace_set traces;

    if (making->count == 1 && !trace_set_is_folder(making->arguments[0]))
        return write_one(making, out, making->arguments[0]);
    if (write_job(making, out))
        return making->code;
    int job_code = making->code;
    if (!open_trace_set(set.command, making->count, making->arguments, &traces, &making->code))
        return making->code;
    int code = write_set(making, out, &traces, NULL);
    trace_set_free(&traces);
    return worse_code(job_code, code);
}

static bool default_page(const char *trace, char page[PATH_MAX])
{
    char stem[PATH_MAX];

    return output_stem(trace, stem) && snprintf(page, PATH_MAX, "%s.html", stem) < PATH_MAX;
}

/* Writes the page, and says where it is unless that was asked for by name. */
static int make_page(struct making *making)
{
    const struct html_values *values = making->values;
    char page[PATH_MAX];

    if (!values->output && (making->count > 1 || !default_page(making->arguments[0], page))) {
        complain(set.command, "where to? 'miniprof html -o PAGE.html TRACE.mpt...'");
        return EXIT_USAGE;
    }
    int code = page_write(set.command, values->output ? values->output : page, write_page, making);
    if (code >= EXIT_USAGE)
        return code;
    if (!values->output)
        say_path(page);
    if (values->open && !open_browser(set.command, values->output ? values->output : page))
        return EXIT_FINDINGS;
    return code;
}

int cmd_html(int argc, char **argv)
{
    struct html_values values = {.report = REPORT_PRESET};
    struct making making = {.values = &values};
    int first;
    enum options_result result = options_parse(&set, argc, argv, &values, &first);

    if (result != OPTIONS_OK)
        return result == OPTIONS_DONE ? EXIT_FINE : EXIT_USAGE;
    making.count = argc - first;
    making.arguments = argv + first;
    if (!making.count) {
        (void)only_trace(set.command, 0, argv + first); /* says what is missing */
        return EXIT_USAGE;
    }
    if (!options_agree(set.command, values.open && values.output && !strcmp(values.output, "-"),
                       "--open needs a page in a file; -o - is the standard output"))
        return EXIT_USAGE;
    return make_page(&making);
}
