/* `miniprof ctl`: asks a process that is being recorded to begin or end a range, or to dump the
 * flight recorder.
 */
#include <stdbool.h>
#include <stdio.h>

#include "base/text/strings.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/view_options.h"
#include "run/ctl_client.h"

#include "base/poison.h"

#define REQUESTS "start|stop|dump|status|where"

static const struct option_set set = {
    .command = "ctl",
    .synopsis = "PID " REQUESTS,
    .purpose = "Begins or ends a capture range in a process that is being recorded, writes what "
               "was recorded so far to its trace, or says how it stands or where its trace is.",
    .notes = "The process has to be one's own, unless one is root, and in the same container. Exit "
             "code: 0 done, 1 the process refuses, 2 wrong usage, 3 the process is not reached.",
};

static bool is_request(const char *word)
{
    static const char *const requests[] = {"start", "stop", "dump", "status", "where"};

    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
        if (mp_text_equal(requests[i], word))
            return true;
    }
    return false;
}

/* The process id, or 0 after a complaint. */
static pid_t check_arguments(int count, char **arguments)
{
    pid_t pid;

    if (count != 2) {
        complain("ctl", count ? "takes a process id and what to do: 'miniprof ctl PID " REQUESTS "'"
                              : "which process? 'miniprof ctl PID " REQUESTS "'");
        return 0;
    }
    pid = ctl_parse_pid("ctl", arguments[0]);
    if (pid && !is_request(arguments[1])) {
        complain("ctl", "'%s' is none of start, stop, dump, status and where", arguments[1]);
        return 0;
    }
    return pid;
}

int cmd_ctl(int argc, char **argv)
{
    char answer[MP_CTL_ANSWER_BYTES];
    enum options_result result;
    pid_t pid;
    int first;
    int code;

    result = options_parse(&set, argc, argv, NULL, &first);
    if (result != OPTIONS_OK)
        return result == OPTIONS_DONE ? EXIT_FINE : EXIT_USAGE;
    pid = check_arguments(argc - first, argv + first);
    if (!pid)
        return EXIT_USAGE;
    view_open_lines();
    code = ctl_ask("ctl", pid, argv[first + 1], answer);
    if (code == EXIT_FINE)
        say_path(answer);
    return code;
}
