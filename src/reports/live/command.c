/* `miniprof top`: reads a trace while it is written and shows the last interval. It polls the
 * file, since the recorder must not wait for a reader.
 */
#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/data/storage.h"
#include "base/settings/config.h"
#include "base/text/strings.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/terminal.h"
#include "profile/identity.h"
#include "reports/live/live.h"
#include "reports/live/print.h"
#include "run/run.h"

#include "base/poison.h"

#define MIN_INTERVAL_MS 20u
#define MAX_INTERVAL_MS 3600000u
#define LOOK_BATCHES    64 /* between two looks at the keys */
#define LINES_AROUND    12 /* of a block, besides the names and one line a GPU */

struct top_values {
    uint64_t interval; /* ms */
    uint64_t count;    /* refreshes; 0: until the end */
    uint64_t top;      /* names in a list; 0: as many as fit, or 5 */
    const char *iteration;
    bool plain;
    int format; /* enum report_format */
};

#define FIELD(name) offsetof(struct top_values, name)
static const struct option_spec specs[] = {
    {.name = "interval",
     .letter = 'i',
     .argument = "MS",
     .kind = OPTION_NUMBER,
     .offset = FIELD(interval),
     .help = "milliseconds from one refresh to the next (default 1000)"},
    {.name = "count",
     .letter = 'n',
     .argument = "N",
     .kind = OPTION_NUMBER,
     .offset = FIELD(count),
     .help = "stop after N refreshes"},
    {.name = "iterations",
     .argument = "NAME",
     .kind = OPTION_TEXT,
     .offset = FIELD(iteration),
     .help = "NVTX ranges that are iterations (default: the most frequent outermost ones)"},
    OPTION_ALIAS("iteration", "NAME", FIELD(iteration)),
    {.name = "top",
     .argument = "N",
     .kind = OPTION_NUMBER,
     .offset = FIELD(top),
     .help = "at most N kernels and N layers (default: as many as fit; 5 without a terminal)"},
    {.name = "plain",
     .kind = OPTION_FLAG,
     .offset = FIELD(plain),
     .help = "append lines, as when stdout is not a terminal"},
    {.name = "csv",
     .kind = OPTION_VALUE,
     .value = REPORT_CSV,
     .offset = FIELD(format),
     .help = "comma-separated values: a row for each refresh and GPU"},
    {.name = "json",
     .kind = OPTION_VALUE,
     .value = REPORT_JSON,
     .offset = FIELD(format),
     .help = "a line of JSON for each refresh; times in ns"},
};
#undef FIELD

static const struct option_set set = {
    .command = "top",
    .synopsis = "[options] PID|TRACE.mpt",
    .purpose = "Shows what a process that is being recorded does now, from its growing trace: how "
               "busy its GPUs are, kernels and layers by time, copies, latency of iterations.",
    .notes = "q or Ctrl-C leave. Exit code: 0 fine, also when the program ends, 1 the process "
             "refuses, 2 wrong usage, 3 the process is not reached or the trace cannot be read.",
    .specs = specs,
    .count = sizeof specs / sizeof *specs,
};

/* What is being shown. */
struct view {
    const struct top_values *values;
    const char *path;
    char title[256];
    pid_t pid; /* whose end is awaited; 0: unknown */
    int end;   /* a pidfd; -1: none */
    bool screen;
    struct mp_trace *trace;
    struct mp_cursor *cursor;
    struct live live;
    struct report_table csv;
    struct report_sheet sheet; /* where `csv` goes */
    int64_t before;            /* ns, of the last refresh */
    uint64_t refreshes;
};

static int64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* ---- The process ---- */

static void await_end_of(struct view *view, pid_t pid)
{
    view->pid = pid;
    view->end = pid ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
}

/* Used if there is no pidfd. A main thread that has ended before the other threads then looks like
 * the end of the process. */
static bool is_gone(pid_t pid)
{
    char path[32], text[512];

    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return true;
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    const char *state = strrchr(text, ')');
    return !state || state[1] == '\0' || state[2] == 'Z' || state[2] == 'X';
}

/* True also for an ended process that nobody has waited for yet. */
static bool has_ended(const struct view *view)
{
    struct pollfd end = {.fd = view->end, .events = POLLIN};

    if (view->end >= 0)
        return poll(&end, 1, 0) == 1;
    return view->pid && is_gone(view->pid);
}

/* For a file: the process that the header names, if it may be on this machine. */
static pid_t pid_of_trace(const struct mp_trace *trace)
{
    const char *host = mp_trace_property(trace, "hostname");
    char own[256] = "";
    uint64_t pid;

    if (!property_number(trace, "pid", INT32_MAX, &pid) || !pid)
        return 0;
    gethostname(own, sizeof own - 1);
    return host && mp_text_equal(host, own) ? (pid_t)pid : 0;
}

/* ---- Opening ---- */

/* EXIT_FINE, or the exit code after a complaint. */
static int open_trace_of(struct view *view)
{
    const struct timespec pause = mp_time_limit_timespec(MP_TIME_TOP_LOOK);
    uint64_t tries = mp_time_limit_ns(MP_TIME_TOP_HEADER) / mp_time_limit_ns(MP_TIME_TOP_LOOK);
    struct mp_error error;
    enum mp_status status = mp_trace_follow(view->path, &view->trace, &error);

    for (; view->pid && tries && status != MP_OK && !has_ended(view); tries--) {
        nanosleep(&pause, NULL);
        status = mp_trace_follow(view->path, &view->trace, &error);
    }
    if (status == MP_OK)
        status = mp_cursor_open(view->trace, &view->cursor, &error);
    if (status == MP_OK)
        return EXIT_FINE;
    complain(set.command, "%s", error.text);
    return EXIT_UNREADABLE;
}

static int cannot_read(const struct view *view, enum mp_status status)
{
    if (status == MP_ERR_MEMORY)
        complain(set.command, "out of memory");
    else
        complain(set.command, "'%s': cannot read it: %s", view->path, mp_status_name(status));
    return EXIT_UNREADABLE;
}

static int begin_anew(struct view *view)
{
    const struct live_options options = {.iteration = view->values->iteration};

    live_free(&view->live);
    enum mp_status status = live_init(&view->live, view->trace, &options);
    if (status != MP_OK)
        return cannot_read(view, status);
    live_select(&view->live, view->cursor);
    return EXIT_FINE;
}

static void make_title(struct view *view)
{
    const char *program = mp_trace_property(view->trace, "argv");
    const char *pid = mp_trace_property(view->trace, "pid");

    if (!program)
        program = mp_trace_property(view->trace, "executable");
    snprintf(view->title, sizeof view->title, "%s %.200s", pid ? pid : "-",
             program ? program : view->path);
}

/* ---- Refreshing ---- */

/* Reads what has come. *leave: a key ends the command. */
static int read_on(struct view *view, bool *leave)
{
    struct mp_batch batch;
    enum mp_status status = MP_OK;
    unsigned batches = 0;

    *leave = false;
    while (status == MP_OK && !*leave) {
        status = mp_cursor_next(view->cursor, &batch);
        if (status == MP_OK)
            status = live_take(&view->live, &batch);
        if (++batches % LOOK_BATCHES == 0)
            *leave = terminal_wait(0, -1) == TERMINAL_LEAVE;
    }
    return status == MP_OK || status == MP_END ? EXIT_FINE : cannot_read(view, status);
}

/* How many names there is room for in each of the two lists. */
static size_t names_shown(const struct view *view)
{
    if (view->values->top)
        return (size_t)view->values->top;
    if (!view->screen)
        return 5;
    size_t lines = terminal_lines();
    return lines > LINES_AROUND + view->live.device_count
               ? (lines - LINES_AROUND - view->live.device_count) / 2 + 1
               : 1;
}

static void draw(struct view *view, const char *state)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = memory_file_open(&text, &bytes);

    if (!out)
        return;
    print_live(out, view->title, state, &view->live, names_shown(view));
    if (fclose(out) == 0)
        terminal_draw(text);
    free(text);
}

static void show(struct view *view, const char *state)
{
    const char *word = state ? state : "recording";

    if (view->values->format == REPORT_JSON) {
        print_live_json(stdout, view->trace, word, &view->live, names_shown(view));
    } else if (view->values->format == REPORT_CSV) {
        print_live_csv(&view->csv, word, &view->live);
    } else if (view->screen) {
        draw(view, state);
    } else {
        if (view->refreshes)
            fputc('\n', stdout);
        print_live(stdout, view->title, state, &view->live, names_shown(view));
    }
    fflush(stdout);
}

/* What a screen showed is gone with it, so the last block stays below the command line. */
static void leave_screen(struct view *view)
{
    terminal_end();
    if (view->screen)
        view_open_lines();
    view->screen = false;
}

static void refresh(struct view *view, const char *state, bool last)
{
    int64_t now = now_ns();

    if (last)
        leave_screen(view);
    live_tick(&view->live, view->trace, view->cursor, (uint64_t)(now - view->before), last);
    show(view, state);
    live_next(&view->live);
    view->before = now;
    view->refreshes++;
}

/* ---- The loop ---- */

/* Waits for the next refresh. */
static enum terminal_event wait_for_next(struct view *view)
{
    int64_t until = view->before + (int64_t)view->values->interval * 1000000;
    int64_t left;
    enum terminal_event event = TERMINAL_DRAW;

    while (event == TERMINAL_DRAW) {
        left = until - now_ns();
        event = terminal_wait(left > 0 ? (int)(left / 1000000) : 0, view->end);
        if (event == TERMINAL_DRAW && view->screen)
            fputs("\033[2J", stdout); /* the next refresh draws it */
    }
    return event;
}

static int top_finish(struct view *view, const char *words)
{
    refresh(view, "ended", true);
    if (view->values->format == REPORT_TEXT)
        printf("%s\n", words);
    return EXIT_FINE;
}

/* Acts on the growth of the file; *over: nothing will follow. */
static int take_growth(struct view *view, enum mp_growth growth, bool ended, bool *over)
{
    *over = true;
    if (growth == MP_GROWTH_ENDED)
        return top_finish(view, view->pid ? "The program has ended." : "The trace is complete.");
    if (ended)
        return top_finish(view, "The program has ended; its trace was not completed.");
    if (growth == MP_GROWTH_REMOVED) {
        refresh(view, "removed", true);
        complain(set.command, "'%s' was removed", view->path);
        return EXIT_UNREADABLE;
    }
    *over = false;
    return EXIT_FINE;
}

/* One look at the file. */
static int look(struct view *view, bool *over)
{
    bool ended = has_ended(view); /* checked before the file, so that the file then contains
                                     everything that was written */
    enum mp_growth growth;
    struct mp_error error;
    int code;

    if (mp_cursor_follow(view->cursor, &growth, &error) != MP_OK) {
        complain(set.command, "%s", error.text);
        return EXIT_UNREADABLE;
    }
    if (growth == MP_GROWTH_RESTARTED) {
        code = begin_anew(view);
        if (code != EXIT_FINE)
            return code;
    }
    live_grow(&view->live, view->trace);
    code = read_on(view, over);
    if (code != EXIT_FINE || *over)
        return code;
    code = take_growth(view, growth, ended, over);
    if (*over || code != EXIT_FINE)
        return code;
    refresh(view, NULL, false);
    *over = ferror(stdout) || (view->values->count && view->refreshes == view->values->count);
    return EXIT_FINE;
}

static int top_run(struct view *view)
{
    bool over = false;
    int code = begin_anew(view);

    view->before = now_ns();
    while (code == EXIT_FINE && !over) {
        code = look(view, &over);
        if (code == EXIT_FINE && !over)
            over = wait_for_next(view) == TERMINAL_LEAVE;
    }
    return code;
}

static int watch(struct view *view)
{
    int code = open_trace_of(view);

    if (code == EXIT_FINE) {
        if (!view->pid)
            await_end_of(view, pid_of_trace(view->trace));
        make_title(view);
        view->screen =
            !view->values->plain && view->values->format == REPORT_TEXT && isatty(STDOUT_FILENO);
        if (view->values->format == REPORT_TEXT && !view->screen)
            view_open_lines();
        if (view->values->format == REPORT_CSV)
            print_live_csv_begin(&view->csv, &view->sheet);
        terminal_begin(view->screen);
        code = top_run(view);
        terminal_end();
    }
    if (view->end >= 0)
        close(view->end);
    live_free(&view->live);
    mp_cursor_close(view->cursor);
    mp_trace_close(view->trace);
    return code;
}

/* ---- The command line ---- */

static bool is_number(const char *text)
{
    while (isdigit((unsigned char)*text))
        text++;
    return *text == '\0';
}

static int watch_process(struct view *view, const char *text)
{
    char path[MP_CTL_ANSWER_BYTES];
    pid_t pid = ctl_parse_pid(set.command, text);

    if (!pid)
        return EXIT_USAGE;
    int code = ctl_ask(set.command, pid, "where", path);
    if (code != EXIT_FINE)
        return code;
    await_end_of(view, pid);
    view->path = path;
    return watch(view);
}

int cmd_top(int argc, char **argv)
{
    struct top_values values = {.interval = 1000, .format = REPORT_TEXT};
    struct view view = {.values = &values, .end = -1, .sheet = {.file = stdout}};
    int first;
    enum options_result result = options_parse(&set, argc, argv, &values, &first);

    if (result != OPTIONS_OK)
        return result == OPTIONS_DONE ? EXIT_FINE : EXIT_USAGE;
    if (argc - first != 1) {
        complain(set.command, "%s process or trace? 'miniprof top PID' or 'miniprof top TRACE.mpt'",
                 argc == first ? "which" : "which one");
        return EXIT_USAGE;
    }
    if (values.interval < MIN_INTERVAL_MS || values.interval > MAX_INTERVAL_MS) {
        complain(set.command, "--interval takes %u to %u milliseconds", MIN_INTERVAL_MS,
                 MAX_INTERVAL_MS);
        return EXIT_USAGE;
    }
    if (is_number(argv[first]))
        return watch_process(&view, argv[first]);
    view.path = argv[first];
    return watch(&view);
}
