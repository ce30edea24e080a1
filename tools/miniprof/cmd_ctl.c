#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/ctl_address.h"
#include "base/strings.h"
#include "command.h"
#include "options.h"

#include "base/poison.h"

#define ANSWER_SECONDS 10

static const struct option_set set = {
    .command = "ctl",
    .synopsis = "PID start|stop|dump|status",
    .purpose = "Begins or ends a capture range in a process that is being recorded, writes what "
               "was recorded so far to its trace, or says how it stands.",
    .notes = "The process has to be one's own, unless one is root, and in the same container. Exit "
             "code: 0 done, 1 the process refuses, 2 wrong usage, 3 the process is not reached.",
};

static bool is_request(const char *word)
{
    static const char *const requests[] = {"start", "stop", "dump", "status"};

    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
        if (mp_text_equal(requests[i], word))
            return true;
    }
    return false;
}

/* The process id, or 0 after a complaint. */
static pid_t check_arguments(int count, char **arguments)
{
    uint64_t pid;

    if (count != 2)
        complain("ctl", count ? "takes a process id and what to do: 'miniprof ctl PID "
                                "start|stop|dump|status'"
                              : "which process? 'miniprof ctl PID start|stop|dump|status'");
    else if (!mp_text_to_u64(arguments[0], 1, INT_MAX, &pid))
        complain("ctl", "'%s' is no process id", arguments[0]);
    else if (!is_request(arguments[1]))
        complain("ctl", "'%s' is none of start, stop, dump and status", arguments[1]);
    else
        return (pid_t)pid;
    return 0;
}

/* Says why nobody listens. */
static void complain_of_silence(pid_t pid, int error)
{
    struct stat about;
    char path[32];

    snprintf(path, sizeof path, "/proc/%d", (int)pid);
    if (error == EAGAIN)
        complain("ctl", "process %d does not answer", (int)pid);
    else if (kill(pid, 0) != 0 && errno == ESRCH)
        complain("ctl", "there is no process %d", (int)pid);
    else if (geteuid() != 0 && stat(path, &about) == 0 && about.st_uid != geteuid())
        complain("ctl", "process %d belongs to another user", (int)pid);
    else
        complain("ctl", "process %d is not being recorded, or not in this container", (int)pid);
}

/* Whether the listener is that process, of the same user unless we are root: anybody could have
 * taken the name. */
static bool is_genuine(int file, pid_t pid)
{
    struct ucred peer;
    socklen_t bytes = sizeof peer;

    if (getsockopt(file, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0)
        return false;
    if (peer.pid == pid && (peer.uid == geteuid() || geteuid() == 0))
        return true;
    complain("ctl", "process %d belongs to another user", (int)pid);
    return false;
}

/* A connection to the process, or -1 after a complaint. */
static int reach(pid_t pid)
{
    const struct timeval limit = {.tv_sec = ANSWER_SECONDS};
    struct sockaddr_un address;
    socklen_t bytes = mp_ctl_address(&address, pid);
    int file = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    if (file < 0) {
        complain("ctl", "cannot make a socket: %s", strerror(errno));
        return -1;
    }
    setsockopt(file, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(file, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    if (connect(file, (struct sockaddr *)&address, bytes) != 0) {
        complain_of_silence(pid, errno);
    } else if (is_genuine(file, pid)) {
        return file;
    }
    close(file);
    return -1;
}

static int ask(int file, pid_t pid, const char *request)
{
    char text[MP_CTL_ANSWER_BYTES + 8];
    const size_t head = strlen(MP_CTL_OK);
    ssize_t bytes = -1;

    if (send(file, request, strlen(request), MSG_NOSIGNAL) > 0)
        bytes = recv(file, text, sizeof text - 1, 0);
    if (bytes < 0) {
        complain_of_silence(pid, errno);
        return EXIT_UNREADABLE;
    }
    text[bytes] = '\0';
    if (mp_text_starts_with(text, MP_CTL_OK)) {
        printf("%s\n", text + head);
        return EXIT_FINE;
    }
    if (mp_text_starts_with(text, MP_CTL_NO))
        complain("ctl", "process %d: %s", (int)pid, text + head);
    else
        complain("ctl", "process %d has ended", (int)pid);
    return bytes ? EXIT_FINDINGS : EXIT_UNREADABLE;
}

int cmd_ctl(int argc, char **argv)
{
    enum options_result result;
    pid_t pid;
    int first;
    int file;
    int code;

    result = options_parse(&set, argc, argv, NULL, &first);
    if (result != OPTIONS_OK)
        return result == OPTIONS_DONE ? EXIT_FINE : EXIT_USAGE;
    pid = check_arguments(argc - first, argv + first);
    if (!pid)
        return EXIT_USAGE;
    file = reach(pid);
    if (file < 0)
        return EXIT_UNREADABLE;
    code = ask(file, pid, argv[first + 1]);
    close(file);
    return code;
}
