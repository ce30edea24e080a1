/* `miniprof completions bash|zsh|fish`: what a shell needs to complete miniprof's command lines,
 * made from the same tables of options as --help. It is not in the list of commands: `make install`
 * calls it. */
#ifndef MP_COMMAND_COMPLETIONS_H
#define MP_COMMAND_COMPLETIONS_H

#include <stddef.h>

#include "cli/command.h"

/* argv[1] is the shell; the exit code. */
int completions(int argc, char **argv, const struct command *commands, size_t count);

#endif
