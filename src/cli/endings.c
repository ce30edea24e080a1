/* Handlers of the signals that end a program, while it writes something that must not stay half. */
#include "cli/endings.h"

#include <errno.h>
#include <string.h>

#include "cli/command.h"

#include "base/poison.h"

static const int ending[ENDINGS] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM};

void endings_guard(struct sigaction before[ENDINGS], void (*handler)(int number))
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = (int)SA_RESETHAND};

    sigemptyset(&action.sa_mask);
    for (int i = 0; i < ENDINGS; i++) {
        sigaction(ending[i], NULL, &before[i]);
        if (before[i].sa_handler == SIG_DFL)
            sigaction(ending[i], &action, NULL);
    }
}

void endings_release(const struct sigaction before[ENDINGS])
{
    for (int i = 0; i < ENDINGS; i++)
        sigaction(ending[i], &before[i], NULL);
}

int cannot_write(const char *command, const char *path)
{
    complain(command, "cannot write '%s': %s", path, strerror(errno));
    return EXIT_UNREADABLE;
}
