/* Completion for zsh, as a function of its completion system: a file _miniprof in fpath. */
#include <string.h>

#include "command/shells.h"

#include "base/poison.h"

static void begin(FILE *out, const struct command *commands, size_t count)
{
    fputs("#compdef miniprof\n"
          "# made by `miniprof completions zsh`\n"
          "local -a commands\n"
          "commands=(\n",
          out);
    for (size_t i = 0; i < count; i++) {
        fprintf(out, "    '%s:", commands[i].name);
        shell_quoted(out, commands[i].purpose, ":");
        fputs("'\n", out);
    }
    fputs("    'help:the list of commands, or the help of one'\n"
          ")\n"
          "if (( CURRENT == 2 )); then\n"
          "    _describe -t commands command commands\n"
          "    _files\n"
          "    return\n"
          "fi\n"
          "local name=$words[2]\n"
          "shift words\n"
          "(( CURRENT-- ))\n"
          "case $name in\n"
          "help) (( CURRENT == 2 )) && _describe -t commands command commands ;;\n",
          out);
}

static void put_option(FILE *out, const struct option_spec *spec)
{
    char words[128];

    fprintf(out, "        '--%s%s[", spec->name, !spec->argument ? "" : spec->alone ? "=-" : "=");
    shell_quoted(out, spec->help, "[]");
    fputc(']', out);
    if (spec->argument)
        fprintf(out, "%s:%s:", spec->alone ? ":" : "", spec->name);
    if (spec->argument && shell_choices(spec->argument, words, sizeof words))
        fprintf(out, "(%s)", words);
    else if (spec->argument)
        fputs(strstr(spec->argument, "FILE") ? "_files" : " ", out);
    fputs("' \\\n", out);
}

static void command(FILE *out, const struct option_set *set)
{
    fprintf(out, "%s)\n    _arguments %s\\\n", set->command, set->program_follows ? "-S " : "");
    for (size_t i = 0; i < set->count && set->specs; i++)
        if (!set->specs[i].hidden)
            put_option(out, &set->specs[i]);
    fprintf(out,
            "        '--help[print this and exit]' \\\n"
            "        '%s'\n    ;;\n",
            set->program_follows ? "*::program:_normal" : "*:file:_files");
}

static void end(FILE *out)
{
    fputs("*) _files ;;\nesac\n", out);
}

const struct shell shell_zsh = {"zsh", begin, command, end};
