/* Completion for bash. It needs nothing of the package bash-completion. Files are completed by bash
 * itself, whenever no word of ours fits.
 */
#include "command/shells.h"

#include "base/poison.h"

static void begin(FILE *out, const struct command *commands, size_t count)
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
static void put_values(FILE *out, const struct option_set *set)
{
    fputs("        case $option in\n", out);
    for (size_t i = 0; i < set->count && set->specs; i++) {
        char words[128];

        if (shell_choices(set->specs[i].argument, words, sizeof words))
            fprintf(out, "        --%s) words='%s' ;;\n", set->specs[i].name, words);
    }
    fputs("        '') ;;\n        *) return ;;\n        esac\n", out);
}

static void command(FILE *out, const struct option_set *set)
{
    fprintf(out, "    %s)\n", set->command);
    if (set->program_follows)
        fputs("        for ((i = 2; i < COMP_CWORD; i++)); do\n"
              "            [[ ${COMP_WORDS[i]} == -- ]] && return\n"
              "            [[ ${COMP_WORDS[i]} == [-=]* || ${COMP_WORDS[i-1]} == = ]] || return\n"
              "        done\n",
              out);
    put_values(out, set);
    fputs("        [ -n \"$option\" ] || words='", out);
    for (size_t i = 0; i < set->count && set->specs; i++)
        if (!set->specs[i].hidden)
            fprintf(out, "--%s%s ", set->specs[i].name,
                    set->specs[i].argument && !set->specs[i].alone ? "=" : "");
    fputs("--help'\n        ;;\n", out);
}

static void end(FILE *out)
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

const struct shell shell_bash = {"bash", begin, command, end};
