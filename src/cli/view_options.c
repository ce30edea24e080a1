/* Decides how tables look: from the options, and from whether stdout is a terminal. */
#include "cli/view_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text/foreign.h"
#include "base/text/strings.h"
#include "cli/command.h"
#include "cli/screen.h"
#include "cli/terminal.h"

#include "base/poison.h"

#define SHORT_NAME 60 /* columns of a name with --names=short where there is no terminal */

/* One command a process, which has one view. */
static struct {
    const char *command;
    struct report_view view;
} open_view;

/* ---- The words of options ---- */

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

/* ---- Begin ---- */

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

/* ---- End ---- */

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
    bool flushed;

    bool column = !view->sort || !view->titles.bytes || view->sorted;

    progress_end();
    if (column)
        say_left_out(view);
    hold_end(column);
    if (!column) {
        complain_of_sort(view);
        code = code < EXIT_USAGE ? EXIT_USAGE : code;
    }
    flushed = fflush(stdout) == 0 && !ferror(stdout);
    *written = screen_end() && flushed;
    return code;
}
