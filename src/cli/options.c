/* Parses the command line of a subcommand from its table of options. --help and every complaint
 * come from the same table, so that the three always agree. Options that many commands have are
 * carried out here: where a report goes, and how tables look.
 */
#include "cli/options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text/foreign.h"
#include "base/text/strings.h"
#include "cli/command.h"
#include "cli/terminal.h"

#include "base/poison.h"

/* ---- How a person looks at tables: what options say, and whether stdout is a terminal ---- */

#define SHORT_NAME 60 /* columns of a name with --names=short where there is no terminal */

/* One command a process, which has one view. */
static struct {
    const char *command;
    struct report_view view;
} open_view;

/* Which of the words it is; false after a complaint. NULL is the first. */
static bool find_word(const char *command, const char *option, const char *text,
                      const char *const words[3], int *found)
{
    for (*found = 0; *found < 3 && words[*found]; ++*found) {
        if (!text || !strcmp(text, words[*found]))
            return true;
    }
    if (words[2])
        complain(command, "--%s takes %s, %s or %s, not '%s'", option, words[0], words[1], words[2],
                 text);
    else
        complain(command, "--%s takes %s or %s, not '%s'", option, words[0], words[1], text);
    return false;
}

enum { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };

static bool has_colours(int color)
{
    const char *none = getenv("NO_COLOR");

    if (color != COLOR_AUTO)
        return color == COLOR_ALWAYS;
    return screen_is_able(STDOUT_FILENO) && !(none && *none);
}

static bool check_json(const char *command, const struct view_values *values,
                       enum report_format format)
{
    const char *option = values->sort ? "sort" : values->top ? "top" : NULL;

    if (format != REPORT_JSON || !option)
        return true;
    complain(command, "--%s is for text and CSV: with --json there are all rows", option);
    return false;
}

static void choose_names(struct report_view *view, const struct view_values *values, bool is_short)
{
    view->whole_names = values->names && !is_short;
    if (!view->width && values->names && is_short)
        view->name_width = SHORT_NAME;
}

bool view_open(const char *command, const struct view_values *values, enum report_format format,
               struct report_out *out)
{
    static const char *const names[3] = {"full", "short"};
    static const char *const colors[3] = {"auto", "always", "never"};
    struct report_view *view = &open_view.view;
    bool terminal = isatty(STDOUT_FILENO);
    bool text = format == REPORT_TEXT;
    int name, color;

    if (!find_word(command, "names", values->names, names, &name) ||
        !find_word(command, "color", values->color, colors, &color) ||
        !check_json(command, values, format))
        return false;
    *view = (struct report_view){
        .top = values->top, .sort = values->sort, .colour = text && has_colours(color)};
    view->width = text && terminal ? screen_size_of(STDOUT_FILENO).columns : 0;
    if (text)
        choose_names(view, values, name == 1);
    open_view.command = command;
    if (terminal || view->colour) {
        const struct screen_options options = {.wrap = view->width != 0,
                                               .colour = view->colour,
                                               .page = !values->no_pager &&
                                                       screen_is_able(STDOUT_FILENO)};
        screen_begin(STDOUT_FILENO, &options);
    }
    if (view->sort) /* its column may be in none of the tables */
        hold_begin(&view->sorted);
    out->file = stdout;
    out->view = report_view_lays_out(view) || view->top || view->sort ? view : NULL;
    return true;
}

void view_top(struct report_out *out, uint64_t top)
{
    open_view.view.top = top;
    out->view = &open_view.view;
}

void view_open_lines(void)
{
    const struct screen_options options = {.wrap = true};

    if (isatty(STDOUT_FILENO))
        screen_begin(STDOUT_FILENO, &options);
}

void view_open_stderr(struct report_out *out)
{
    struct report_view *view = &open_view.view;

    if (!isatty(STDERR_FILENO))
        return;
    *view = (struct report_view){.width = screen_size_of(STDERR_FILENO).columns};
    out->view = view;
}

static void say_left_out(const struct report_view *view)
{
    if (view->left_out.bytes) {
        fputs("Columns left out: ", stdout);
        foreign_put_text(stdout, view->left_out.text);
        printf("%s. A wider terminal, a pipe or --csv has them.\n",
               view->left_out.full ? " and others" : "");
    }
}

static void complain_of_sort(const struct report_view *view)
{
    const char *wanted = view->sort + (*view->sort == '-');
    char text[REPORT_TITLES_BYTES];
    struct mp_meant meant = {.typed = wanted};
    char *at = text;

    memcpy(text, view->titles.text, sizeof text);
    while (*at) {
        size_t bytes = strcspn(at, ",");
        char *next = at + bytes + strspn(at + bytes, ", ");

        at[bytes] = '\0';
        mp_meant_offer(&meant, at);
        at = next;
    }
    if (mp_meant_name(&meant))
        complain(open_view.command, "no table has a column '%s' to sort by; did you mean '%s'?",
                 wanted, mp_meant_name(&meant));
    else
        complain(open_view.command, "no table has a column '%s' to sort by; there are %s", wanted,
                 view->titles.text);
}

int view_close(int code, bool *written)
{
    const struct report_view *view = &open_view.view;
    bool column = !view->sort || !view->titles.bytes || view->sorted;

    progress_end();
    if (column)
        say_left_out(view);
    hold_end(column);
    if (!column) {
        complain_of_sort(view);
        code = code < EXIT_USAGE ? EXIT_USAGE : code;
    }
    bool flushed = fflush(stdout) == 0 && !ferror(stdout);
    *written = screen_end() && flushed;
    return code;
}

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

/* ---- Reports: format, names, range ---- */

static bool formats_agree(const char *command, const struct report_values *values)
{
    bool csv = values->format == REPORT_CSV;
    bool text = values->format == REPORT_TEXT && !values->lines;

    return options_agree(command, csv && values->lines,
                         "--csv and --jsonl are two formats; ask for one") &&
           options_agree(command, values->table && !csv, "--table needs --csv") &&
           options_agree(command, values->unit && !text && strcmp(values->unit, "ns") != 0,
                         "--unit is for text; --csv, --json and --jsonl are always in ns");
}

bool report_out_open(const char *command, struct report_values *values, struct report_out *out)
{
    if (values->lines && values->format == REPORT_TEXT)
        values->format = REPORT_JSON;
    *out = (struct report_out){.file = stdout, .format = (enum report_format)values->format};
    if (!report_units_parse(values->unit ? values->unit : "auto", &out->units)) {
        complain(command, "--unit takes s, ms, us, ns, col or auto, not '%s'", values->unit);
        return false;
    }
    if (!formats_agree(command, values) || !view_open(command, &values->view, out->format, out))
        return false;
    if (out->format == REPORT_CSV) {
        values->sheet = (struct report_sheet){.file = out->file, .wanted = values->table};
        out->sheet = &values->sheet;
        out->file = stderr;
    }
    if (out->format == REPORT_JSON) {
        values->documents.lines = values->lines;
        out->documents = &values->documents;
    }
    return true;
}

/* Whether there are arguments besides options; false after a complaint. */
static bool report_names_trace(const char *command, int arguments)
{
    if (!arguments)
        complain(command, "which trace? 'miniprof %s TRACE.mpt'", command);
    return arguments != 0;
}

bool report_parse(const struct option_set *set, int argc, char **argv, void *values,
                  struct report_values *report, struct report_out *out, int *first, int *code)
{
    enum options_result result = options_parse(set, argc, argv, values, first);

    *code = result == OPTIONS_DONE ? EXIT_FINE : EXIT_USAGE;
    return result == OPTIONS_OK && report_names_trace(set->command, argc - *first) &&
           report_out_open(set->command, report, out);
}

int report_command(const struct option_set *set, int argc, char **argv, void *values,
                   struct report_values *report, bool (*check)(void *values), trace_report *print)
{
    int first, code;

    if (!report_parse(set, argc, argv, values, report, &report->out, &first, &code))
        return code;
    if (check && !check(values))
        return EXIT_USAGE;
    return each_trace(set->command, &report->out, argc - first, argv + first, print, values);
}

enum names_style report_style(const struct report_values *values)
{
    return values->demangling ? NAMES_READABLE : NAMES_MANGLED;
}
