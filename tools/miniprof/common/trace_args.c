/* The traces that a command line names: files, folders, several of either. Each trace is reported
 * on its own, and the worst result is the exit code.
 */
#include "common/trace_args.h"

#include <sys/resource.h>

#include "common/command.h"

#include "base/poison.h"

static int worse(int a, int b)
{
    return a > b ? a : b;
}

static int complain_of_problems(const char *command, const struct trace_set *set)
{
    int code = EXIT_FINE;

    for (size_t i = 0; i < set->problem_count; i++) {
        const struct trace_set_problem *problem = &set->problems[i];
        bool missing = problem->named && !problem->repeated;

        complain(command, "%s", problem->text);
        code = worse(code, missing || !set->count ? EXIT_UNREADABLE : EXIT_FINDINGS);
    }
    return code;
}

static bool open_paths(const char *command, const char *const *paths, size_t count,
                       struct trace_set *set, int *code)
{
    struct mp_error error;

    if (trace_set_open(paths, count, set, &error) != MP_OK) {
        complain(command, "%s", error.text);
        *code = EXIT_UNREADABLE;
        return false;
    }
    *code = complain_of_problems(command, set);
    if (set->count)
        return true;
    trace_set_free(set);
    return false;
}

bool open_trace_set(const char *command, int count, char **arguments, struct trace_set *set,
                    int *code)
{
    return open_paths(command, (const char *const *)arguments, (size_t)count, set, code);
}

int report_trace(const char *command, const char *path, trace_report *report, void *context)
{
    struct mp_trace *trace = open_trace(command, path);
    struct mp_error error;
    bool whole = false;
    int code;

    if (!trace)
        return EXIT_UNREADABLE;
    if (report(context, trace, &whole, &error) != MP_OK)
        code = fail_on_trace(command, path, &error);
    else
        code = whole ? EXIT_FINE : EXIT_FINDINGS;
    mp_trace_close(trace);
    return code;
}

static int each_of_folder(const char *command, const char *folder, trace_report *report,
                          void *context)
{
    struct trace_set set;
    int code;

    if (!open_paths(command, &folder, 1, &set, &code))
        return code;
    for (size_t i = 0; i < set.count; i++)
        code = worse(code, report_trace(command, set.processes[i].path, report, context));
    trace_set_free(&set);
    return code;
}

int each_trace(const char *command, int count, char **arguments, trace_report *report,
               void *context)
{
    int code = EXIT_FINE;

    for (int i = 0; i < count; i++) {
        const char *path = arguments[i];

        code =
            worse(code, trace_set_is_folder(path) ? each_of_folder(command, path, report, context)
                                                  : report_trace(command, path, report, context));
    }
    return code;
}

void allow_many_files(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}
