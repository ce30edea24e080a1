/* Makes the completions of a shell: every command is called once, and instead of doing anything
 * says what options it has.
 */
#include "command/completions.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/options.h"

#include "base/poison.h"

/* ---- Words ---- */

struct shell {
    const char *name;
    void (*begin)(FILE *out, const struct command *commands, size_t count);
    void (*command)(FILE *out, const struct option_set *set); /* the options of one */
    void (*end)(FILE *out);
};

/* The words of an argument such as "on|off", with spaces between them, into `text`; false if the
 * argument is no choice of words. */
static bool shell_choices(const char *argument, char *text, size_t size)
{
    size_t bytes = argument ? strlen(argument) : 0;

    if (!bytes || bytes >= size || !strchr(argument, '|'))
        return false;
    for (size_t i = 0; i <= bytes; i++) {
        if (argument[i] && argument[i] != '|' && argument[i] != '-' &&
            !islower((unsigned char)argument[i]))
            return false;
        text[i] = argument[i] == '|' ? ' ' : argument[i];
    }
    return true;
}

/* Prints text for inside of single quotes, with a backslash before each of `special`. */
static void shell_quoted(FILE *out, const char *text, const char *special)
{
    for (; *text; text++) {
        if (*text == '\'')
            fputs("'\\'", out);
        else if (strchr(special, *text))
            fputc('\\', out);
        fputc(*text, out);
    }
}

/* ---- bash ----
 *
 * It needs nothing of the package bash-completion. Files are completed by bash itself, whenever no
 * word of ours fits.
 */

static void bash_begin(FILE *out, const struct command *commands, size_t count)
{
    fputs("# bash completion for miniprof, made by `miniprof completions bash`\n"
          "_miniprof() {\n"
          "    local word=${COMP_WORDS[COMP_CWORD]} option= words= i\n"
          "    # bash takes `--names=full` for three words.\n"
          "    if [ \"$word\" = = ]; then\n"
          "        option=${COMP_WORDS[COMP_CWORD-1]} word=\n"
          "    elif [ \"${COMP_WORDS[COMP_CWORD-1]}\" = = ]; then\n"
          "        option=${COMP_WORDS[COMP_CWORD-2]}\n"
          "    fi\n"
          "    COMPREPLY=()\n"
          "    if [ \"$COMP_CWORD\" -eq 1 ] ||\n"
          "        { [ \"$COMP_CWORD\" -eq 2 ] && [ \"${COMP_WORDS[1]}\" = help ]; }; then\n"
          "        mapfile -t COMPREPLY < <(compgen -W '",
          out);
    for (size_t i = 0; i < count; i++)
        fprintf(out, "%s ", commands[i].name);
    fputs("help' -- \"$word\")\n"
          "        return\n"
          "    fi\n"
          "    case ${COMP_WORDS[1]} in\n",
          out);
}

/* The values of options that are a choice of words. */
static void put_bash_values(FILE *out, const struct option_set *set)
{
    fputs("        case $option in\n", out);
    for (size_t i = 0; i < set->count && set->specs; i++) {
        char words[128];

        if (shell_choices(set->specs[i].argument, words, sizeof words))
            fprintf(out, "        --%s) words='%s' ;;\n", set->specs[i].name, words);
    }
    fputs("        '') ;;\n        *) return ;;\n        esac\n", out);
}

static void bash_command(FILE *out, const struct option_set *set)
{
    fprintf(out, "    %s)\n", set->command);
    if (set->program_follows)
        fputs("        for ((i = 2; i < COMP_CWORD; i++)); do\n"
              "            [[ ${COMP_WORDS[i]} == -- ]] && return\n"
              "            [[ ${COMP_WORDS[i]} == [-=]* || ${COMP_WORDS[i-1]} == = ]] || return\n"
              "        done\n",
              out);
    put_bash_values(out, set);
    fputs("        [ -n \"$option\" ] || words='", out);
    for (size_t i = 0; i < set->count && set->specs; i++)
        if (!set->specs[i].hidden)
            fprintf(out, "--%s%s ", set->specs[i].name,
                    set->specs[i].argument && !set->specs[i].alone ? "=" : "");
    fputs("--help'\n        ;;\n", out);
}

static void bash_end(FILE *out)
{
    fputs("    *) return ;;\n"
          "    esac\n"
          "    if [[ -n $option || $word == -* ]]; then\n"
          "        mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n"
          "    fi\n"
          "    [[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace 2>/dev/null\n"
          "    return 0\n"
          "}\n"
          "complete -o bashdefault -o default -F _miniprof miniprof\n",
          out);
}

static const struct shell shell_bash = {"bash", bash_begin, bash_command, bash_end};

/* ---- zsh ----
 *
 * A function of its completion system: a file _miniprof in fpath.
 */

static void zsh_begin(FILE *out, const struct command *commands, size_t count)
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

static void put_zsh_option(FILE *out, const struct option_spec *spec)
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

static void zsh_command(FILE *out, const struct option_set *set)
{
    fprintf(out, "%s)\n    _arguments %s\\\n", set->command, set->program_follows ? "-S " : "");
    for (size_t i = 0; i < set->count && set->specs; i++)
        if (!set->specs[i].hidden)
            put_zsh_option(out, &set->specs[i]);
    fprintf(out,
            "        '--help[print this and exit]' \\\n"
            "        '%s'\n    ;;\n",
            set->program_follows ? "*::program:_normal" : "*:file:_files");
}

static void zsh_end(FILE *out)
{
    fputs("*) _files ;;\nesac\n", out);
}

static const struct shell shell_zsh = {"zsh", zsh_begin, zsh_command, zsh_end};

/* ---- fish ----
 *
 * A line for each command and for each option.
 */

#define SPECIAL "\\" /* within single quotes, besides the quote itself */

static void fish_begin(FILE *out, const struct command *commands, size_t count)
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

static void put_fish_option(FILE *out, const char *name, const struct option_spec *spec)
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

static void fish_command(FILE *out, const struct option_set *set)
{
    for (size_t i = 0; i < set->count && set->specs; i++)
        if (!set->specs[i].hidden)
            put_fish_option(out, set->command, &set->specs[i]);
}

static void fish_end(FILE *out)
{
    (void)out;
}

static const struct shell shell_fish = {"fish", fish_begin, fish_command, fish_end};

/* ---- The command ---- */

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

    if (!shell) {
        complain("completions", "for which shell? 'miniprof completions bash', zsh or fish");
        return EXIT_USAGE;
    }
    struct shell context = *shell;
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
