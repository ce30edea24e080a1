/* Finds a browser and starts it. It outlives the command, and what it prints is not for the
 * terminal of the command.
 */
#include "page/browser.h"

#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/program.h"

#include "base/poison.h"

extern char **environ;

/* The first name of a list with colons. */
static bool find_first(const char *list, char program[PATH_MAX])
{
    char name[PATH_MAX];
    int length = snprintf(name, sizeof name, "%.*s", (int)strcspn(list, ":"), list);

    return length > 0 && length < PATH_MAX && program_find(name, program);
}

static bool find_browser(char program[PATH_MAX])
{
    static const char *const usual[] = {"xdg-open", "open"};
    const char *wanted = getenv("BROWSER");

    if (wanted && *wanted)
        return find_first(wanted, program);
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) {
        if (program_find(usual[i], program))
            return true;
    }
    return false;
}

static int start(char *program, char *page)
{
    char *arguments[] = {program, page, NULL};
    posix_spawn_file_actions_t files;
    pid_t pid;
    int error;

    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
    error = posix_spawn(&pid, program, &files, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&files);
    return error;
}

bool browser_open(const char *command, const char *page)
{
    char program[PATH_MAX];
    char *copy = strdup(page);
    int error;

    if (!copy || !find_browser(program)) {
        complain(command, "no browser was found to show '%s': set BROWSER, or install xdg-open",
                 page);
        free(copy);
        return false;
    }
    error = start(program, copy);
    free(copy);
    if (error)
        complain(command, "cannot run the browser '%s': %s", program, strerror(error));
    return !error;
}
