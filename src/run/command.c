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
#include "cli/command.h"
#include "cli/program.h"
#include "cli/view_options.h"
#include "reports/summary/summarise.h"
#include "run/launch.h"
#include "run/run_options.h"
#include "run/written_traces.h"

#include "base/poison.h"

/* ---- The program ---- */

static bool export_settings(const void *values)
{
    return run_options_export(values);
}

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

/* ---- What it wrote ---- */

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

static void print_result(const struct run_values *values, pid_t pid, const struct timespec *since)
{
    struct written_traces traces;
    struct mp_error error;

    if (written_traces_find(&traces, setting_in_force(values, "output"), pid, since, &error) !=
        MP_OK) {
        complain("run", "%s", error.text);
    } else {
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

static int run_program(struct launch *launch, const struct run_values *values, char **argv)
{
    struct timespec since = launch_file_time();
    struct child child = {.mask = NULL};

    if (launch_run(launch, argv, &child) != 0) {
        complain("run", "cannot make a process: %m");
        return EXIT_UNREADABLE;
    }
    if (child.start_errno) {
        complain("run", "cannot run '%s': %s", argv[0], strerror(child.start_errno));
        return child.exit_code;
    }
    if (!values->no_summary)
        print_result(values, child.pid, &since);
    child_die_alike(&child);
    return child.exit_code;
}

int cmd_run(int argc, char **argv)
{
    struct run_values values = {.library = NULL};
    struct launch launch = {.export_settings = export_settings, .context = &values};
    int code;
    int first;
    enum options_result result = run_options_parse(argc, argv, &values, &first);

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
    code = check_output(&values, argv[first]);
    return code == EXIT_FINE ? run_program(&launch, &values, argv + first) : code;
}
