/* Parses the command line of a subcommand from its table of options. --help and every complaint
 * come from the same table, so that the three always agree.
 */
#include "cli/options.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/strings.h"
#include "cli/command.h"
#include "cli/view_options.h"

#include "base/poison.h"

#define HELP_INDENT 24
#define HELP_WIDTH  79
#define FIRST_CODE  256 /* of long options: index in specs plus this */
#define HELP_CODE   'h'

/* ---- Help ---- */

/* Prints words from column `column` on, broken into lines that begin at `indent`. */
static void print_wrapped(const char *text, int column, int indent)
{
    while (*text) {
        int length = (int)strcspn(text, " ");

        if (column > indent && column + 1 + length > HELP_WIDTH) {
            printf("\n%*s", indent, "");
            column = indent;
        } else if (column > indent) {
            putchar(' ');
            column++;
        }
        printf("%.*s", length, text);
        column += length;
        text += length;
        text += strspn(text, " ");
    }
    putchar('\n');
}

void options_print(char letter, const char *name, const char *argument, const char *help)
{
    int column = letter ? printf("  -%c, --%s", letter, name) : printf("      --%s", name);

    if (argument)
        column += printf("%s%s", strncmp(argument, "[=", 2) == 0 ? "" : "=", argument);
    if (column >= HELP_INDENT)
        column = printf("\n") - 1;
    printf("%*s", HELP_INDENT - column, "");
    print_wrapped(help, HELP_INDENT, HELP_INDENT);
}

static void print_help(const struct option_set *set)
{
    view_open_lines();
    printf("Usage: miniprof %s %s\n\n", set->command, set->synopsis);
    print_wrapped(set->purpose, 0, 0);
    printf("\nOptions:\n");
    for (size_t i = 0; set->specs && i < set->count; i++) {
        const struct option_spec *spec = &set->specs[i];
        char optional[64];

        if (spec->hidden)
            continue;
        snprintf(optional, sizeof optional, "[=%s]", spec->alone ? spec->argument : "");
        options_print(spec->letter, spec->name, spec->alone ? optional : spec->argument,
                      spec->help);
    }
    options_print(HELP_CODE, "help", NULL, "print this and exit");
    if (set->notes) {
        putchar('\n');
        print_wrapped(set->notes, 0, 0);
    }
}

/* ---- Parsing ---- */

struct getopt_tables {
    struct option names[OPTIONS_MAX + 2];
    char letters[2 * OPTIONS_MAX + 8];
};

static void fill_tables(const struct option_set *set, struct getopt_tables *tables)
{
    size_t used = 0;

    if (set->program_follows)
        tables->letters[used++] = '+';
    tables->letters[used++] = ':';
    for (size_t i = 0; set->specs && i < set->count; i++) {
        const struct option_spec *spec = &set->specs[i];
        int argument = !spec->argument ? no_argument
                       : spec->alone   ? optional_argument
                                       : required_argument;

        tables->names[i] = (struct option){spec->name, argument, NULL, FIRST_CODE + (int)i};
        if (!spec->letter)
            continue;
        tables->letters[used++] = spec->letter;
        if (spec->argument)
            tables->letters[used++] = ':';
    }
    tables->names[set->count] = (struct option){"help", no_argument, NULL, HELP_CODE};
    tables->names[set->count + 1] = (struct option){NULL, 0, NULL, 0};
    tables->letters[used++] = HELP_CODE;
    tables->letters[used] = '\0';
}

static const struct option_spec *find_spec(const struct option_set *set, int code)
{
    if (!set->specs)
        return NULL;
    if (code >= FIRST_CODE && (size_t)(code - FIRST_CODE) < set->count)
        return &set->specs[code - FIRST_CODE];
    for (size_t i = 0; set->specs && i < set->count; i++) {
        if (set->specs[i].letter && set->specs[i].letter == code)
            return &set->specs[i];
    }
    return NULL;
}

static bool set_switch(bool *value, const char *text)
{
    *value = mp_text_equal(text, "on");
    return *value || mp_text_equal(text, "off");
}

static bool add_text(struct option_texts *texts, const char *text)
{
    if (texts->count == OPTION_TEXTS_MAX)
        return false;
    texts->items[texts->count++] = text;
    return true;
}

static const char *takes(enum option_kind kind)
{
    if (kind == OPTION_TEXTS)
        return "32 arguments at most";
    return kind == OPTION_SWITCH ? "on or off" : "a number from 1";
}

_Static_assert(OPTION_TEXTS_MAX == 32, "the complaint above says how many");

/* Stores the value; false when the argument is not of its kind. */
static bool set_value(const struct option_spec *spec, const char *argument, void *values)
{
    void *field = (char *)values + spec->offset;

    switch (spec->kind) {
    case OPTION_FLAG:
        *(bool *)field = true;
        return true;
    case OPTION_VALUE:
        *(int *)field = spec->value;
        return true;
    case OPTION_NUMBER:
        return mp_text_to_u64(argument, 1, UINT64_MAX, field);
    case OPTION_SWITCH:
        return set_switch(field, argument);
    case OPTION_TEXT:
        *(const char **)field = argument ? argument : spec->alone;
        return true;
    case OPTION_TEXTS:
        return add_text(field, argument);
    }
    return false;
}

/* An unknown option that begins with two dashes, perhaps with a value. */
static void complain_of_word(const struct option_set *set, const char *word)
{
    size_t length = strcspn(word, "=");
    char *typed = strndup(word, length);
    struct mp_meant meant = {.typed = typed ? typed + strspn(typed, "-") : ""};

    for (size_t i = 0; set->specs && i < set->count; i++) {
        if (!set->specs[i].hidden)
            mp_meant_offer(&meant, set->specs[i].name);
    }
    if (mp_meant_name(&meant))
        complain(set->command,
                 "unknown option '%s'; did you mean '--%s'? 'miniprof help %s' lists them", word,
                 mp_meant_name(&meant), set->command);
    else
        complain(set->command, "unknown option '%s'; 'miniprof help %s' lists them", word,
                 set->command);
    free(typed);
}

/* What getopt_long did not like, and what to do. */
static void complain_of(const struct option_set *set, int code, const char *word)
{
    const struct option_spec *spec = find_spec(set, optopt);

    if (spec && code == ':')
        complain(set->command, "--%s needs a value: --%s=%s", spec->name, spec->name,
                 spec->argument);
    else if (spec)
        complain(set->command, "--%s takes no value", spec->name);
    else if (optopt && optopt < FIRST_CODE && optopt != HELP_CODE)
        complain(set->command, "unknown option '-%c'; 'miniprof help %s' lists them", optopt,
                 set->command);
    else
        complain_of_word(set, word);
}

static struct {
    options_listener *take;
    void *context;
} listener;

void options_listen(options_listener *take, void *context)
{
    listener.take = take;
    listener.context = context;
}

enum options_result options_parse(const struct option_set *set, int argc, char **argv, void *values,
                                  int *first)
{
    struct getopt_tables tables;
    int code;

    if (listener.take) {
        listener.take(listener.context, set);
        return OPTIONS_DONE;
    }
    fill_tables(set, &tables);
    opterr = 0;
    optind = 0;
    while ((code = getopt_long(argc, argv, tables.letters, tables.names, NULL)) != -1) {
        const struct option_spec *spec = find_spec(set, code);

        if (code == HELP_CODE) {
            print_help(set);
            return OPTIONS_DONE;
        }
        if (!spec) {
            complain_of(set, code, argv[optind - 1]);
            return OPTIONS_WRONG;
        }
        if (!set_value(spec, optarg, values)) {
            complain(set->command, "--%s takes %s, not '%s'", spec->name, takes(spec->kind),
                     optarg);
            return OPTIONS_WRONG;
        }
    }
    *first = optind;
    return OPTIONS_OK;
}

bool options_agree(const char *command, bool clash, const char *complaint)
{
    if (clash)
        complain(command, "%s", complaint);
    return !clash;
}
