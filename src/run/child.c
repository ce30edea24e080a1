/* Runs a program as if it ran without us. Signals are passed on to the program, and its exit code
 * or signal becomes ours.
 */
#include "run/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/poison.h"

#define CODE_CANNOT_RUN 126 /* as env(1) and the shells have it */
#define CODE_NO_PROGRAM 127
#define CODE_SIGNAL     128

static const int passed_on[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};

/* Signals are waited for, together with SIGCHLD. So there is no handler, and no state that a
 * handler would need. */
static void block_signals(sigset_t *waited, sigset_t *before)
{
    struct sigaction ordinary = {.sa_handler = SIG_DFL};

    sigaction(SIGCHLD, &ordinary, NULL); /* ignored, children would vanish without a status */
    sigemptyset(waited);
    sigaddset(waited, SIGCHLD);
    for (size_t i = 0; i < sizeof passed_on / sizeof *passed_on; i++)
        sigaddset(waited, passed_on[i]);
    sigprocmask(SIG_BLOCK, waited, before);
}

/* In the child. A failure goes through the pipe, which a successful exec closes. */
static void start_program(char **argv, int (*prepare)(void *context), void *context,
                          const sigset_t *mask, int report)
{
    int error = prepare(context);

    if (!error) {
        sigprocmask(SIG_SETMASK, mask, NULL);
        execvp(argv[0], argv);
        error = errno;
    }
    if (write(report, &error, sizeof error) != sizeof error)
        _exit(CODE_CANNOT_RUN);
    _exit(error == ENOENT ? CODE_NO_PROGRAM : CODE_CANNOT_RUN);
}

static int read_report(int report)
{
    int error = 0;
    ssize_t size;

    do {
        size = read(report, &error, sizeof error);
    } while (size < 0 && errno == EINTR);
    return size == sizeof error ? error : 0;
}

/* Passes a signal on, unless the kernel sent it: the terminal's Ctrl-C already went to the whole
 * process group. */
static void pass_on(pid_t pid, const siginfo_t *info)
{
    if (info->si_code <= 0 || info->si_signo == SIGHUP)
        kill(pid, info->si_signo);
}

static void wait_for_end(struct child *child, const sigset_t *waited)
{
    siginfo_t info;
    int status;

    for (;;) {
        pid_t ended = waitpid(child->pid, &status, WNOHANG);
        if (ended == child->pid)
            break;
        if (ended < 0 && errno != EINTR) {
            child->exit_code = CODE_CANNOT_RUN;
            return;
        }
        if (sigwaitinfo(waited, &info) > 0 && info.si_signo != SIGCHLD)
            pass_on(child->pid, &info);
    }
    child->signalled = WIFSIGNALED(status);
    child->exit_code = child->signalled ? CODE_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status);
}

int child_run(char **argv, int (*prepare)(void *context), void *context, struct child *child)
{
    sigset_t waited;
    sigset_t before;
    int report[2];

    if (pipe2(report, O_CLOEXEC) != 0)
        return -1;
    block_signals(&waited, &before);
    child->pid = fork();
    if (child->pid == 0)
        start_program(argv, prepare, context, child->mask ? child->mask : &before, report[1]);
    close(report[1]);
    if (child->pid > 0 && child->started)
        child->started(child->pid, child->context);
    child->start_errno = child->pid > 0 ? read_report(report[0]) : 0;
    close(report[0]);
    if (child->pid > 0)
        wait_for_end(child, &waited);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return child->pid > 0 ? 0 : -1;
}

void child_die_alike(const struct child *child)
{
    int number = child->exit_code - CODE_SIGNAL;
    struct sigaction ordinary = {.sa_handler = SIG_DFL};
    sigset_t only;

    if (!child->signalled)
        return;
    fflush(NULL);
    prctl(PR_SET_DUMPABLE, 0);
    sigaction(number, &ordinary, NULL);
    sigemptyset(&only);
    sigaddset(&only, number);
    sigprocmask(SIG_UNBLOCK, &only, NULL);
    raise(number);
}
