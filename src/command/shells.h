/* Inside of completions: one script in the language of a shell. */
#ifndef MP_COMMAND_SHELLS_H
#define MP_COMMAND_SHELLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "cli/command.h"
#include "cli/options.h"

struct shell {
    const char *name;
    void (*begin)(FILE *out, const struct command *commands, size_t count);
    void (*command)(FILE *out, const struct option_set *set); /* the options of one */
    void (*end)(FILE *out);
};

extern const struct shell shell_bash, shell_zsh, shell_fish;

/* The words of an argument such as "on|off", with spaces between them, into `text`; false if the
 * argument is no choice of words. */
bool shell_choices(const char *argument, char *text, size_t size);

/* Prints text for inside of single quotes, with a backslash before each of `special`. */
void shell_quoted(FILE *out, const char *text, const char *special);

#endif
