/* `miniprof ctl`: asks a process that is being recorded to begin or end a range, or to dump the
 * flight recorder.
 */
#include "run/run.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/settings/config.h"
#include "base/text/strings.h"
#include "cli/command.h"
#include "cli/options.h"

#include "base/poison.h"

/* ---- Requests ----
 *
 * Before a request is sent, the kernel is asked who listens: an abstract socket has no permissions,
 * so another user could have taken the name.
 */

/* Says why nobody listens. */
static void complain_of_silence(const char *command, pid_t pid, int error)
{
    struct stat about;
    char path[32];

    snprintf(path, sizeof path, "/proc/%d", (int)pid);
    if (error == EAGAIN)
        complain(command, "process %d does not answer", (int)pid);
    else if (kill(pid, 0) != 0 && errno == ESRCH)
        complain(command, "there is no process %d", (int)pid);
    else if (geteuid() != 0 && stat(path, &about) == 0 && about.st_uid != geteuid())
        complain(command, "process %d belongs to another user", (int)pid);
    else
        complain(command, "process %d is not being recorded, or not in this container", (int)pid);
}

/* Whether the listener is that process, and of the same user unless we are root: anybody could have
 * taken the name. */
static bool is_genuine(const char *command, int file, pid_t pid)
{
    struct ucred peer;
    socklen_t bytes = sizeof peer;

    if (getsockopt(file, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0)
        return false;
    if (peer.pid == pid && (peer.uid == geteuid() || geteuid() == 0))
        return true;
    complain(command, "process %d belongs to another user", (int)pid);
    return false;
}

/* A connection to the process, or -1 after a complaint. */
static int reach(const char *command, pid_t pid)
{
    const struct timespec answer = mp_time_limit_timespec(MP_TIME_CTL_ANSWER);
    const struct timeval limit = {.tv_sec = answer.tv_sec, .tv_usec = answer.tv_nsec / 1000};
    struct sockaddr_un address;
    socklen_t bytes = mp_ctl_address(&address, pid);
    int file = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    if (file < 0) {
        complain(command, "cannot make a socket: %s", strerror(errno));
        return -1;
    }
    setsockopt(file, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(file, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    if (connect(file, (struct sockaddr *)&address, bytes) != 0) {
        complain_of_silence(command, pid, errno);
    } else if (is_genuine(command, file, pid)) {
        return file;
    }
    close(file);
    return -1;
}

/* Sends the request and takes the answer, without its first word. */
static int exchange(const char *command, int file, pid_t pid, const char *request,
                    char answer[MP_CTL_ANSWER_BYTES])
{
    char text[MP_CTL_ANSWER_BYTES + 8];
    const size_t head = strlen(MP_CTL_OK);
    ssize_t bytes = -1;

    if (send(file, request, strlen(request), MSG_NOSIGNAL) > 0)
        bytes = recv(file, text, sizeof text - 1, 0);
    if (bytes < 0) {
        complain_of_silence(command, pid, errno);
        return EXIT_UNREADABLE;
    }
    text[bytes] = '\0';
    if (mp_text_starts_with(text, MP_CTL_OK)) {
        mp_text_copy(answer, MP_CTL_ANSWER_BYTES, text + head);
        return EXIT_FINE;
    }
    if (mp_text_starts_with(text, MP_CTL_NO))
        complain(command, "process %d: %s", (int)pid, text + head);
    else
        complain(command, "process %d has ended", (int)pid);
    return bytes ? EXIT_FINDINGS : EXIT_UNREADABLE;
}

int ctl_ask(const char *command, pid_t pid, const char *request, char answer[MP_CTL_ANSWER_BYTES])
{
    int file = reach(command, pid);

    if (file < 0)
        return EXIT_UNREADABLE;
    int code = exchange(command, file, pid, request, answer);
    close(file);
    return code;
}

pid_t ctl_parse_pid(const char *command, const char *text)
{
    uint64_t pid;

    if (mp_text_to_u64(text, 1, INT_MAX, &pid))
        return (pid_t)pid;
    complain(command, "'%s' is no process id", text);
    return 0;
}

/* ---- The command ---- */

#define REQUESTS "start|stop|dump|status|where"

static const struct option_set set = {
    .command = "ctl",
    .synopsis = "PID " REQUESTS,
    .purpose = "Begins or ends a capture range in a process that is being recorded, writes what "
               "was recorded so far to its trace, or prints its state or the path of its trace.",
    .notes = "The process must be yours, unless you are root, and in the same container. Exit "
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
    if (count != 2) {
        complain("ctl", count ? "takes a process id and what to do: 'miniprof ctl PID " REQUESTS "'"
                              : "which process? 'miniprof ctl PID " REQUESTS "'");
        return 0;
    }
    pid_t pid = ctl_parse_pid("ctl", arguments[0]);
    if (pid && !is_request(arguments[1])) {
        complain("ctl", "'%s' is none of start, stop, dump, status and where", arguments[1]);
        return 0;
    }
    return pid;
}

int cmd_ctl(int argc, char **argv)
{
    char answer[MP_CTL_ANSWER_BYTES];
    int first;
    enum options_result result = options_parse(&set, argc, argv, NULL, &first);
    if (result != OPTIONS_OK)
        return result == OPTIONS_DONE ? EXIT_FINE : EXIT_USAGE;
    pid_t pid = check_arguments(argc - first, argv + first);
    if (!pid)
        return EXIT_USAGE;
    view_open_lines();
    int code = ctl_ask("ctl", pid, argv[first + 1], answer);
    if (code == EXIT_FINE)
        say_path(answer);
    return code;
}
