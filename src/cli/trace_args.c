/* The traces that a command line names: files, folders, several of either; as one set, or one trace
 * reported on its own. each_trace.c reports each of them.
 */
#include "cli/trace_args.h"

#include <sys/resource.h>

#include "cli/command.h"
#include "cli/progress.h"

#include "base/poison.h"

int complain_of_problems(const char *command, const struct trace_set *set)
{
    int code = EXIT_FINE;

    for (size_t i = 0; i < set->problem_count; i++) {
        const struct trace_set_problem *problem = &set->problems[i];
        bool missing = problem->named && !problem->repeated;

        complain(command, "%s", problem->text);
        code = worse_code(code, missing || !set->count ? EXIT_UNREADABLE : EXIT_FINDINGS);
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
    progress_begin(path);
    if (report(context, trace, &whole, &error) != MP_OK)
        code = fail_on_trace(command, path, &error);
    else
        code = whole ? EXIT_FINE : EXIT_FINDINGS;
    progress_end();
    mp_trace_close(trace);
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
