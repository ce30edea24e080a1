#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "child.h"
#include "command.h"
#include "run_options.h"
#include "summarise.h"
#include "written_traces.h"

#include "base/poison.h"

/* ---- The library to inject ---- */

/* Beside this command, as in the build folder, or where `make install` puts it. */
static bool find_library(const char *given, char *path, size_t size)
{
    static const char *const places[] = {"libminiprof.so", "../lib/libminiprof.so",
                                         "../lib64/libminiprof.so"};
    char self[PATH_MAX];
    char candidate[PATH_MAX + 32];
    char resolved[PATH_MAX];
    ssize_t length;

    if (given) {
        if (!realpath(given, resolved) || strlen(resolved) >= size)
            return false;
        memcpy(path, resolved, strlen(resolved) + 1);
        return true;
    }
    length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length <= 0)
        return false;
    self[length] = '\0';
    *(strrchr(self, '/') + 1) = '\0';
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        snprintf(candidate, sizeof candidate, "%s%s", self, places[i]);
        if (find_library(candidate, path, size))
            return true;
    }
    return false;
}

/* ---- The program ---- */

struct launch {
    const struct run_values *values;
    char library[PATH_MAX];
};

/* In the child: the environment that the CUDA driver and NVTX look at. */
static int set_environment(void *context)
{
    const struct launch *launch = context;

    if (setenv("CUDA_INJECTION64_PATH", launch->library, 1) != 0 ||
        setenv("NVTX_INJECTION64_PATH", launch->library, 1) != 0 ||
        !run_options_export(launch->values))
        return ENOMEM;
    return 0;
}

static const char *output_pattern(const struct run_values *values)
{
    const struct mp_setting *setting = mp_setting_by_flag("output");
    const char *given = values->settings[setting - mp_settings];
    const char *inherited = getenv(setting->name);

    if (given)
        return given;
    return inherited && *inherited ? inherited : setting->preset;
}

/* ---- What it wrote ---- */

static void print_summary_of(const char *path)
{
    struct report_out out = {.file = stderr};
    struct summary_options options = {.demangle = true};

    summarise_file("run", path, &out, &options);
}

static void print_others(const struct written_traces *traces, size_t from)
{
    for (size_t i = from; i < traces->other_count; i++)
        complain("run", "another process wrote %s; 'miniprof summary' prints it",
                 traces->others[i]);
}

/* The program's own trace; if it only started the one that uses the GPU, as a shell does, that
 * one's. */
static void print_traces(const struct written_traces *traces)
{
    bool only_other = !traces->own_exists && traces->other_count == 1;

    if (traces->own_exists)
        print_summary_of(traces->own);
    else if (only_other)
        print_summary_of(traces->others[0]);
    else if (!traces->other_count)
        complain("run",
                 "no trace was written to %s: the program made no CUDA calls, or changed "
                 "folder, or its messages above say why not",
                 traces->own);
    print_others(traces, only_other);
}

static void print_result(const struct run_values *values, pid_t pid, const struct timespec *since)
{
    struct written_traces traces;
    struct mp_error error;

    if (written_traces_find(&traces, output_pattern(values), pid, since, &error) != MP_OK) {
        complain("run", "%s", error.text);
        return;
    }
    print_traces(&traces);
    written_traces_free(&traces);
}

/* ---- The command ---- */

/* File systems keep times by the kernel's tick, a little behind the clock. */
static struct timespec coarse_now(void)
{
    struct timespec now = {0, 0};

    clock_gettime(CLOCK_REALTIME_COARSE, &now);
    return now;
}

static int run_program(const struct launch *launch, char **argv)
{
    struct timespec since = coarse_now();
    struct child child;

    if (child_run(argv, set_environment, (void *)(uintptr_t)launch, &child) != 0) {
        complain("run", "cannot make a process: %m");
        return EXIT_UNREADABLE;
    }
    if (child.start_errno) {
        complain("run", "cannot run '%s': %s", argv[0], strerror(child.start_errno));
        return child.exit_code;
    }
    if (!launch->values->no_summary)
        print_result(launch->values, child.pid, &since);
    return child.exit_code;
}

int cmd_run(int argc, char **argv)
{
    struct run_values values = {.library = NULL};
    struct launch launch = {.values = &values};
    int first;
    enum options_result result = run_options_parse(argc, argv, &values, &first);

    if (result != OPTIONS_OK)
        return result == OPTIONS_DONE ? EXIT_FINE : EXIT_USAGE;
    if (first == argc) {
        complain("run", "which program? 'miniprof run -- PROGRAM [argument...]'");
        return EXIT_USAGE;
    }
    if (!find_library(values.library, launch.library, sizeof launch.library)) {
        complain("run", "cannot find %s; --library=FILE names it",
                 values.library ? values.library : "libminiprof.so");
        return EXIT_UNREADABLE;
    }
    return run_program(&launch, argv + first);
}
