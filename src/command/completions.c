/* Makes the completions of a shell: every command is called once, and instead of doing anything
 * says what options it has.
 */
#include "command/completions.h"

#include <stdio.h>
#include <string.h>

#include "cli/options.h"
#include "command/shells.h"

#include "base/poison.h"

static const struct shell *const shells[] = {&shell_bash, &shell_zsh, &shell_fish, NULL};

static void take_options(void *context, const struct option_set *set)
{
    const struct shell *shell = context;

    shell->command(stdout, set);
}

static const struct shell *find_shell(const char *name)
{
    for (size_t i = 0; name && shells[i]; i++) {
        if (!strcmp(shells[i]->name, name))
            return shells[i];
    }
    return NULL;
}

int completions(int argc, char **argv, const struct command *commands, size_t count)
{
    const struct shell *shell = find_shell(argc == 2 ? argv[1] : NULL);
    struct shell context;

    if (!shell) {
        complain("completions", "for which shell? 'miniprof completions bash', zsh or fish");
        return EXIT_USAGE;
    }
    context = *shell;
    shell->begin(stdout, commands, count);
    options_listen(take_options, &context);
    for (size_t i = 0; i < count; i++) {
        char *arguments[] = {argv[0], NULL};

        if (commands[i].run !=
            cmd_nvprof) /* its options are nvprof's, and not in a table of ours */
            commands[i].run(1, arguments);
    }
    options_listen(NULL, NULL);
    shell->end(stdout);
    return EXIT_FINE;
}
