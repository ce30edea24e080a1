/* Starts a pager as git and man do: $PAGER by the shell, else less. A pager that is not there is
 * found out before anything is written into its pipe.
 */
#include "cli/pager.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/program.h"

#include "base/poison.h"

#define USUAL_PAGER "less -FRX"

/* Whether the first word of the command line is a program that can be run. */
static bool is_there(const char *command)
{
    char word[PATH_MAX];
    char found[PATH_MAX];
    size_t bytes;

    command += strspn(command, " \t");
    bytes = strcspn(command, " \t");
    if (!bytes || bytes >= sizeof word)
        return false;
    memcpy(word, command, bytes);
    word[bytes] = '\0';
    return program_find(word, found);
}

static const char *pager_command(void)
{
    const char *wanted = getenv("PAGER");

    if (wanted && (!*wanted || !strcmp(wanted, "cat")))
        return NULL;
    if (!wanted)
        wanted = USUAL_PAGER;
    return is_there(wanted) ? wanted : NULL;
}

/* In the child, which has nothing else to lose. */
_Noreturn static void become_pager(const char *command, int input)
{
    signal(SIGINT, SIG_DFL);
    signal(SIGQUIT, SIG_DFL);
    signal(SIGPIPE, SIG_DFL);
    setenv("LESS", "FRX", 0);
    if (dup2(input, STDIN_FILENO) >= 0)
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    _exit(127);
}

bool pager_begin(struct pager *pager)
{
    const char *command = pager_command();
    int ends[2];

    if (!command || pipe2(ends, O_CLOEXEC) != 0)
        return false;
    pager->pid = fork();
    if (pager->pid == 0)
        become_pager(command, ends[0]);
    close(ends[0]);
    if (pager->pid < 0) {
        close(ends[1]);
        pager->pid = 0;
        return false;
    }
    pager->pipe = ends[1];
    signal(SIGINT, SIG_IGN);
    signal(SIGQUIT, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    return true;
}

void pager_end(struct pager *pager)
{
    if (!pager->pid)
        return;
    close(pager->pipe);
    while (waitpid(pager->pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    pager->pid = 0;
}
