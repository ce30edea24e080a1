/* `miniprof run`: starts a program, records it, and names the traces that it wrote. The exit code
 * is the program's own.
 */
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"
#include "base/metrics/metrics.h"
#include "base/settings/config.h"
#include "base/text/strings.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/program.h"
#include "reports/summary/print.h"
#include "run/run.h"

#include "base/poison.h"

/* ---- Options ----
 *
 * A flag for each setting of the recorder is added from config.def, so a new setting needs no line
 * here.
 */

struct run_values {
    const char *library;                   /* NULL: found next to the command */
    bool no_summary;                       /* record only */
    bool force;                            /* replace a trace file that exists */
    uint64_t pairs;                        /* runs to compare with, and as many recorded ones */
    const char *settings[MP_SETTINGS_MAX]; /* by position in mp_settings; NULL: not given */
};

#define PAIRS_MAX 1000

#define OWN_COUNT (sizeof own_specs / sizeof *own_specs)

static const struct option_spec own_specs[] = {
    {.name = "library",
     .argument = "FILE",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct run_values, library),
     .help = "the libminiprof.so to inject (default: the one beside this command, or in ../lib)"},
    {.name = "no-summary",
     .kind = OPTION_FLAG,
     .offset = offsetof(struct run_values, no_summary),
     .help = "record only"},
    {.name = "force",
     .letter = 'f',
     .kind = OPTION_FLAG,
     .offset = offsetof(struct run_values, force),
     .help = "replace the trace file if it exists (default: nothing is run)"},
    {.name = "pairs",
     .argument = "N",
     .kind = OPTION_NUMBER,
     .offset = offsetof(struct run_values, pairs),
     .help = "run the program N times without the recorder and N times with it, in turn; the trace "
             "of the last run has the steps of all, and reports say what recording costs"},
};

_Static_assert(MP_SETTINGS_MAX + OWN_COUNT <= OPTIONS_MAX, "room for all");

/* The option table for the parser, with the texts that --help prints. */
struct run_table {
    struct option_spec specs[OPTIONS_MAX];
    char arguments[OPTIONS_MAX][128];
    char helps[OPTIONS_MAX][512];
    size_t count;
};

/* `auto|range|all` for a choice, what config.def calls it otherwise. */
static void describe_argument(const struct mp_setting *setting, char *text, size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (uint32_t i = 0; i < setting->word_count && used + 1 < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s", i ? "|" : "", setting->words[i]);
    if (setting->kind == MP_SETTING_LIST && used + 1 < size)
        snprintf(text + used, size - used, "|NAME,...");
    else if (!setting->word_count)
        mp_text_copy(text, size, *setting->metavariable ? setting->metavariable : "N");
}

static void add_setting(struct run_table *table, size_t index)
{
    const struct mp_setting *setting = &mp_settings[index];
    char *argument = table->arguments[table->count];
    char *help = table->helps[table->count];

    describe_argument(setting, argument, sizeof table->arguments[0]);
    if (*setting->preset)
        snprintf(help, sizeof table->helps[0], "%s (default %s)", setting->help, setting->preset);
    else
        mp_text_copy(help, sizeof table->helps[0], setting->help);
    table->specs[table->count++] = (struct option_spec){
        .name = setting->flag,
        .argument = argument,
        .help = help,
        .kind = OPTION_TEXT,
        .alone = mp_text_equal(setting->flag, "baseline") ? "25%" : NULL,
        .letter = mp_text_equal(setting->flag, "output") ? 'o' : 0,
        .offset = offsetof(struct run_values, settings) + index * sizeof(const char *),
    };
}

static void fill_table(struct run_table *table)
{
    memcpy(table->specs, own_specs, sizeof own_specs);
    table->count = OWN_COUNT;
    for (size_t i = 0; i < mp_setting_count; i++)
        add_setting(table, i);
}

/* Whether the recorder would accept the value; complains if not. */
static bool check_setting(struct mp_config *config, const struct mp_setting *setting,
                          const char *text)
{
    char takes[256];

    if (mp_config_set(config, setting, text, NULL) == MP_OK)
        return true;
    complain("run", "--%s takes %s, not '%s'", setting->flag,
             mp_setting_takes(setting, takes, sizeof takes), text);
    return false;
}

/* Names that neither nvprof nor CUPTI could have: before a program has run for hours. */
static bool check_metrics(const char *list)
{
    char name[METRIC_NAME_BYTES];
    struct metric_names names;
    struct metric_entry entry;
    bool fine = true;

    metric_names_begin(&names, list);
    while (metric_names_next(&names, name)) {
        const char *meant = metric_suggest(name);

        if (metric_look_up(name, &entry))
            continue;
        fine = false;
        if (meant)
            complain("run", "--metrics: there is no metric '%s'; did you mean '%s'?", name, meant);
        else
            complain("run",
                     "--metrics: there is no metric '%s'; 'miniprof metrics --query' lists "
                     "them",
                     name);
    }
    return fine;
}

static bool check_settings(const struct run_values *values)
{
    struct mp_config *config = malloc(sizeof *config);
    bool good = config != NULL;

    if (!config)
        complain("run", "out of memory");
    else
        mp_config_init(config);
    for (size_t i = 0; good && i < mp_setting_count; i++) {
        if (values->settings[i])
            good = check_setting(config, &mp_settings[i], values->settings[i]);
        if (good && values->settings[i] && mp_text_equal(mp_settings[i].flag, "metrics"))
            good = check_metrics(values->settings[i]);
    }
    free(config);
    return good;
}

/* Parses argv; returns as options_parse does. Values of settings are checked by the recorder's own
 * rules. */
static enum options_result parse_options(int argc, char **argv, struct run_values *values,
                                         int *first)
{
    struct run_table *table = calloc(1, sizeof *table);

    if (!table) {
        complain("run", "out of memory");
        return OPTIONS_WRONG;
    }
    fill_table(table);
    struct option_set set = {
        .command = "run",
        .synopsis = "[options] [--] PROGRAM [argument...]",
        .purpose = "Runs a program with the recorder injected, and prints the summary of its "
                   "trace on stderr when it has ended.",
        .notes = "Each option but the first three sets the variable of its name for the program: "
                 "--cuda-graph is MINIPROF_CUDA_GRAPH. Exit code or signal: the program's; 2 wrong "
                 "usage, 3 the trace file exists or libminiprof.so "
                 "is not found, 126 the program cannot "
                 "be run, 127 there is none.",
        .specs = table->specs,
        .count = table->count,
        .program_follows = true,
    };
    enum options_result result = options_parse(&set, argc, argv, values, first);
    if (result == OPTIONS_OK && !check_settings(values))
        result = OPTIONS_WRONG;
    free(table);
    return result;
}

/* Sets the environment variables of the given settings, in the child process. Returns false when
 * memory is out. */
static bool export_settings(const void *context)
{
    const struct run_values *values = context;

    for (size_t i = 0; i < mp_setting_count; i++) {
        if (values->settings[i] && setenv(mp_settings[i].name, values->settings[i], 1) != 0)
            return false;
    }
    return true;
}

/* ---- What it wrote ---- */

/* What the program finds in the environment, or the default. */
static const char *setting_in_force(const struct run_values *values, const char *flag)
{
    const struct mp_setting *setting = mp_setting_by_flag(flag);
    const char *given = values->settings[setting - mp_settings];
    const char *inherited = getenv(setting->name);

    if (given)
        return given;
    return inherited && *inherited ? inherited : setting->preset;
}

static void print_summary_of(const char *path)
{
    struct summarising to = {.out.file = stderr, .options.style = NAMES_READABLE};

    view_open_stderr(&to.out);
    report_trace("run", path, summarise, &to);
}

/* With the flight recorder one program may have written several. */
static void print_others(const struct written_traces *traces, size_t from, bool flight)
{
    for (size_t i = from; i < traces->other_count; i++)
        complain("run", "%s %s; 'miniprof summary' prints it",
                 flight ? "there is also" : "another program wrote", traces->others[i]);
}

static void complain_of_none(const struct written_traces *traces, bool flight)
{
    if (flight)
        complain("run", "the flight recorder wrote no trace: nothing triggered it, or its messages "
                        "above say why not");
    else
        complain("run",
                 "no trace was written to %s: the program made no CUDA calls, or changed "
                 "folder, or its messages above say why not",
                 traces->own);
}

/* The program's own trace; if it only started the one that uses the GPU, as a shell does, that
 * one's. */
static void print_traces(const struct written_traces *traces, bool flight)
{
    bool only_other = !traces->own_exists && traces->other_count == 1;

    if (traces->own_exists)
        print_summary_of(traces->own);
    else if (only_other)
        print_summary_of(traces->others[0]);
    else if (!traces->other_count)
        complain_of_none(traces, flight);
    print_others(traces, only_other, flight);
}

/* `folder` is empty if no marks were wanted. */
static void keep_steps(const struct written_traces *traces, const char *folder, uint64_t pairs)
{
    if (!*folder)
        return;
    if (traces->own_exists)
        pairs_keep(traces->own, folder, (unsigned)pairs);
    for (size_t i = 0; i < traces->other_count; i++)
        pairs_keep(traces->others[i], folder, (unsigned)pairs);
    pairs_remove(folder); /* now: nobody may want to read what is printed next */
}

static void finish_traces(const struct run_values *values, const char *folder, pid_t pid,
                          const struct timespec *since)
{
    struct written_traces traces;
    struct mp_error error;

    if (written_traces_find(&traces, setting_in_force(values, "output"), pid, since, &error) !=
        MP_OK) {
        complain("run", "%s", error.text);
    } else {
        keep_steps(&traces, folder, values->pairs);
        if (!values->no_summary)
            print_traces(&traces, *setting_in_force(values, "flight"));
    }
    written_traces_free(&traces);
}

/* ---- A trace file that exists ---- */

/* Before the program has run for hours. A name with the process id is new, or else the recorder
 * finds another one. */
static int check_output(const struct run_values *values, const char *program)
{
    const char *pattern = setting_in_force(values, "output");
    char path[PATH_MAX];
    char found[PATH_MAX];
    struct stat info;

    if (mp_pattern_has_pid(pattern) ||
        mp_pattern_expand(pattern, path, sizeof path, NULL) != MP_OK || lstat(path, &info) != 0)
        return EXIT_FINE;
    if (!values->force)
        complain("run", "'%s' exists already; -f (--force) replaces it", path);
    else if (!S_ISREG(info.st_mode))
        complain("run", "'%s' is no regular file: it is not replaced", path);
    else if (program_find(program, found) && unlink(path) != 0)
        complain("run", "cannot replace '%s': %m", path);
    else
        return EXIT_FINE;
    return EXIT_UNREADABLE;
}

/* ---- The command ---- */

/* Runs it once, or in pairs. *finished: it was run as often as was asked for. */
static int run_often(struct launch *launch, const struct run_values *values, char **argv,
                     const char *folder, struct child *child, bool *finished)
{
    char marks[SCRATCH_BYTES + 2];

    if (values->pairs)
        return pairs_run(launch, argv, (unsigned)values->pairs, folder, child, finished);
    snprintf(marks, sizeof marks, "%s/1", folder);
    if (*folder && mkdir(marks, 0700) == 0)
        launch->steps = marks;
    *finished = true;
    return launch_run(launch, argv, child);
}

static int run_in(struct launch *launch, const struct run_values *values, char **argv,
                  const char *folder, struct child *child)
{
    struct timespec since = launch_file_time();
    bool finished;

    if (run_often(launch, values, argv, folder, child, &finished) != 0) {
        complain("run", "cannot make a process: %m");
        return EXIT_UNREADABLE;
    }
    if (child->start_errno)
        complain("run", "cannot run '%s': %s", argv[0], strerror(child->start_errno));
    else if (finished)
        finish_traces(values, folder, child->pid, &since);
    return child->exit_code;
}

static int run_program(struct launch *launch, const struct run_values *values, char **argv)
{
    struct child child = {.mask = NULL};
    char folder[SCRATCH_BYTES];
    struct mp_error error;

    if (scratch_make(folder, &error) != MP_OK && values->pairs) {
        complain("run", "%s", error.text);
        return EXIT_UNREADABLE;
    }
    int code = run_in(launch, values, argv, folder, &child);
    if (*folder)
        pairs_remove(folder);
    child_die_alike(&child);
    return code;
}

/* Why the program cannot be run in pairs; NULL: it can. */
static const char *refuse_pairs(const struct run_values *values, const struct launch *launch,
                                const char *program)
{
    if (!values->pairs)
        return NULL;
    if (values->pairs > PAIRS_MAX)
        return "it takes 1 to 1000 pairs";
    if (*setting_in_force(values, "flight"))
        return "not together with --flight";
    return launch_bears_preload(launch, program) ? NULL
                                                 : "this program cannot be started with "
                                                   "libminiprof_preload.so, which times the steps "
                                                   "of bare runs";
}

int cmd_run(int argc, char **argv)
{
    struct run_values values = {.library = NULL};
    struct launch launch = {.export_settings = export_settings, .context = &values};
    int first;
    enum options_result result = parse_options(argc, argv, &values, &first);

    if (result != OPTIONS_OK)
        return result == OPTIONS_DONE ? EXIT_FINE : EXIT_USAGE;
    if (first == argc) {
        complain("run", "which program? 'miniprof run -- PROGRAM [argument...]'");
        return EXIT_USAGE;
    }
    if (!launch_find_library(&launch, values.library)) {
        complain("run", "cannot find %s; --library=FILE names it",
                 values.library ? values.library : "libminiprof.so");
        return EXIT_UNREADABLE;
    }
    const char *refusal = refuse_pairs(&values, &launch, argv[first]);
    if (refusal) {
        complain("run", "--pairs: %s", refusal);
        return EXIT_USAGE;
    }
    int code = check_output(&values, argv[first]);
    return code == EXIT_FINE ? run_program(&launch, &values, argv + first) : code;
}
