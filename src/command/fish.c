/* Completion for fish: a line for each command and for each option. */
#include <string.h>

#include "command/shells.h"

#include "base/poison.h"

#define SPECIAL "\\" /* within single quotes, besides the quote itself */

static void begin(FILE *out, const struct command *commands, size_t count)
{
    fputs("# fish completion for miniprof, made by `miniprof completions fish`\n", out);
    for (size_t i = 0; i < count; i++) {
        fprintf(out, "complete -c miniprof -n __fish_use_subcommand -a %s -d '", commands[i].name);
        shell_quoted(out, commands[i].purpose, SPECIAL);
        fputs("'\n", out);
    }
    fputs("complete -c miniprof -n __fish_use_subcommand -a help -d 'the help of a command'\n",
          out);
}

static void put_option(FILE *out, const char *name, const struct option_spec *spec)
{
    char words[128];

    fprintf(out, "complete -c miniprof -n '__fish_seen_subcommand_from %s' -l %s", name,
            spec->name);
    if (spec->letter)
        fprintf(out, " -s %c", spec->letter);
    if (spec->argument && shell_choices(spec->argument, words, sizeof words))
        fprintf(out, " -x -a '%s'", words);
    else if (spec->argument && !spec->alone)
        fputs(strstr(spec->argument, "FILE") ? " -r" : " -x", out);
    fputs(" -d '", out);
    shell_quoted(out, spec->help, SPECIAL);
    fputs("'\n", out);
}

static void command(FILE *out, const struct option_set *set)
{
    for (size_t i = 0; i < set->count && set->specs; i++)
        if (!set->specs[i].hidden)
            put_option(out, set->command, &set->specs[i]);
}

static void end(FILE *out)
{
    (void)out;
}

const struct shell shell_fish = {"fish", begin, command, end};
