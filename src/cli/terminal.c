/* Terminals: their size, a line of progress, and a screen with keys. Handlers of signals draw and
 * restore.
 */
#include "cli/terminal.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "base/text/foreign.h"
#include "base/text/strings.h"
#include "base/text/units.h"
#include "table/table.h"

#include "base/poison.h"

/* ---- Its size ----
 *
 * The kernel knows it, or else the variables that shells set.
 */

#define MIN_COLUMNS 10
#define MIN_LINES   2

bool screen_is_able(int file)
{
    const char *term = getenv("TERM");

    return isatty(file) && term && *term && strcmp(term, "dumb") != 0;
}

static unsigned from_environment(const char *name, unsigned usual)
{
    const char *text = getenv(name);
    uint64_t number;

    return text && mp_text_to_u64(text, 1, 10000, &number) ? (unsigned)number : usual;
}

struct screen_size screen_size_of(int file)
{
    struct winsize window = {.ws_row = 0};
    struct screen_size size;

    (void)ioctl(file, TIOCGWINSZ, &window);
    size.columns = window.ws_col ? window.ws_col : from_environment("COLUMNS", 80);
    size.lines = window.ws_row ? window.ws_row : from_environment("LINES", 24);
    size.columns = size.columns < MIN_COLUMNS ? MIN_COLUMNS : size.columns;
    size.lines = size.lines < MIN_LINES ? MIN_LINES : size.lines;
    return size;
}

/* ---- Progress ----
 *
 * A line on stderr, drawn by a timer's signal: analyses need no hooks for it. The handler calls
 * write and nothing else that could be in use when the signal comes.
 */

#define LINE_BYTES    256
#define SECONDS_WIDTH 12 /* " 123456 s" and more */

static struct {
    volatile sig_atomic_t runs;
    volatile sig_atomic_t drawn;
    volatile sig_atomic_t seconds;
    char text[LINE_BYTES]; /* "\rreading 'x.mpt':" */
    size_t bytes;
    size_t columns;
} progress;

/* Async-signal-safe. */
static void write_text(int file, const char *text, size_t bytes)
{
    ssize_t ignored = write(file, text, bytes);

    (void)ignored;
}

/* Appends " 12 s". */
static size_t append_seconds(char *text, size_t at, unsigned seconds)
{
    char digits[12];
    size_t count = 0;

    do {
        digits[count++] = (char)('0' + seconds % 10);
        seconds /= 10;
    } while (seconds && count < sizeof digits);
    text[at++] = ' ';
    while (count)
        text[at++] = digits[--count];
    text[at++] = ' ';
    text[at++] = 's';
    return at;
}

static void on_alarm(int number)
{
    char line[LINE_BYTES + 2 * SECONDS_WIDTH];
    int before = errno;

    (void)number;
    if (!progress.runs)
        return;
    progress.seconds++;
    memcpy(line, progress.text, progress.bytes);
    size_t bytes = append_seconds(line, progress.bytes, (unsigned)progress.seconds);
    write_text(STDERR_FILENO, line, bytes);
    progress.drawn = 1;
    errno = before;
}

static void set_timer(time_t seconds)
{
    struct itimerval timer = {.it_value.tv_sec = seconds, .it_interval.tv_sec = seconds};

    setitimer(ITIMER_REAL, &timer, NULL);
}

/* stdout may be a pipe to a pager, which owns the terminal. */
static bool is_wanted(void)
{
    struct stat info;

    if (!screen_is_able(STDERR_FILENO))
        return false;
    return isatty(STDOUT_FILENO) || (fstat(STDOUT_FILENO, &info) == 0 && S_ISREG(info.st_mode));
}

static void make_text_of_path(const char *path)
{
    unsigned columns = screen_size_of(STDERR_FILENO).columns;
    char name[REPORT_SHORTENED_BYTES];
    size_t room = columns > 2 * SECONDS_WIDTH ? columns - 2 * SECONDS_WIDTH : SECONDS_WIDTH;
    size_t bytes = strlen(path);
    FILE *out = fmemopen(progress.text, sizeof progress.text, "w");

    progress.bytes = 0;
    if (!out)
        return;
    room = room > LINE_BYTES / 4 ? LINE_BYTES / 4 : room;
    path = report_shorten(path, &bytes, room, name, sizeof name);
    fputs("\rreading '", out);
    foreign_put(out, path, bytes);
    fputs("':", out);
    progress.columns = columns - 1;
    fflush(out);
    progress.bytes = (size_t)ftell(out);
    fclose(out);
}

static void make_text_of_count(size_t done, size_t count)
{
    int bytes = snprintf(progress.text, sizeof progress.text,
                         "\radded %s of %s:", mp_count(done).text, mp_count(count).text);

    progress.columns = screen_size_of(STDERR_FILENO).columns - 1;
    progress.bytes = bytes > 0 ? (size_t)bytes : 0;
}

static void start(void)
{
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};

    progress.drawn = 0;
    sigemptyset(&action.sa_mask);
    if (progress.bytes && sigaction(SIGALRM, &action, NULL) == 0) {
        progress.runs = 1;
        set_timer(1);
    }
}

void progress_begin(const char *path)
{
    progress_end();
    if (!is_wanted())
        return;
    make_text_of_path(path);
    progress.seconds = 0;
    start();
}

void progress_count(size_t done, size_t count)
{
    bool runs = progress.runs;

    if (!runs && !is_wanted())
        return;
    if (!done)
        progress.seconds = 0;
    progress.runs = 0; /* the handler must not see half a text */
    make_text_of_count(done, count);
    if (runs)
        progress.runs = 1;
    else
        start();
}

void progress_end(void)
{
    if (!progress.runs)
        return;
    set_timer(0);
    progress.runs = 0;
    if (!progress.drawn)
        return;
    write_text(STDERR_FILENO, "\r", 1);
    for (size_t i = 0; i < progress.columns; i++)
        write_text(STDERR_FILENO, " ", 1);
    write_text(STDERR_FILENO, "\r", 1);
}

/* ---- A screen that is drawn repeatedly ----
 *
 * The terminal's settings are put back by whatever ends the process, so they are restored from an
 * exit handler and from signal handlers.
 */

/* The alternate screen, so that the old contents come back; no cursor, no line wrap. */
static const char enter_text[] = "\033[?1049h\033[?25l\033[?7l";
static const char leave_text[] = "\033[?7h\033[?25h\033[?1049l";

/* Signal handlers read and write these, while the process waits or works. */
static struct {
    struct termios before;
    volatile sig_atomic_t screen; /* is taken */
    volatile sig_atomic_t keys;   /* stdin is a terminal, and was changed */
    volatile sig_atomic_t leave;
    volatile sig_atomic_t draw;
    sigset_t unblocked;
} terminal;

/* Both are async-signal-safe. */
static void put_back(void)
{
    if (terminal.screen)
        write_text(STDOUT_FILENO, leave_text, sizeof leave_text - 1);
    if (terminal.keys)
        tcsetattr(STDIN_FILENO, TCSANOW, &terminal.before);
}

static void terminal_take(void)
{
    struct termios raw = terminal.before;

    if (terminal.screen)
        write_text(STDOUT_FILENO, enter_text, sizeof enter_text - 1);
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    raw.c_cc[VMIN] = 0;
    raw.c_cc[VTIME] = 0;
    if (terminal.keys)
        tcsetattr(STDIN_FILENO, TCSANOW, &raw);
}

void terminal_end(void)
{
    put_back();
    terminal.screen = 0;
    terminal.keys = 0;
}

static void on_leave(int number)
{
    (void)number;
    terminal.leave = 1;
}

static void on_size(int number)
{
    (void)number;
    terminal.draw = 1;
}

static void on_stop(int number)
{
    int before = errno;

    (void)number;
    put_back();
    raise(SIGSTOP);
    terminal_take();
    terminal.draw = 1;
    errno = before;
}

/* SA_RESETHAND has restored the default action, which the signal raised here triggers. */
static void on_crash(int number)
{
    put_back();
    raise(number);
}

static void handle(int number, void (*handler)(int), int flags)
{
    struct sigaction action;

    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    action.sa_flags = flags;
    sigemptyset(&action.sa_mask);
    sigaction(number, &action, NULL);
}

/* Signals that end the command are delivered only while it waits, so nothing is half drawn then. */
static void take_signals(void)
{
    static const int leaving[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    static const int crashing[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    sigset_t blocked;

    sigemptyset(&blocked);
    for (size_t i = 0; i < sizeof leaving / sizeof *leaving; i++) {
        handle(leaving[i], on_leave, 0);
        sigaddset(&blocked, leaving[i]);
    }
    for (size_t i = 0; i < sizeof crashing / sizeof *crashing; i++)
        handle(crashing[i], on_crash, (int)SA_RESETHAND);
    handle(SIGWINCH, on_size, 0);
    handle(SIGTSTP, on_stop, 0);
    handle(SIGPIPE, SIG_IGN, 0);
    sigaddset(&blocked, SIGWINCH);
    sigaddset(&blocked, SIGTSTP);
    sigprocmask(SIG_BLOCK, &blocked, &terminal.unblocked);
    for (size_t i = 0; i < sizeof leaving / sizeof *leaving; i++)
        sigdelset(&terminal.unblocked, leaving[i]);
    sigdelset(&terminal.unblocked, SIGWINCH);
    sigdelset(&terminal.unblocked, SIGTSTP);
}

void terminal_begin(bool screen)
{
    take_signals();
    /* In the background, a change of the settings would stop the process. If stdout is a pipe to a
     * pager, the keys belong to the pager. */
    terminal.keys = isatty(STDOUT_FILENO) && tcgetpgrp(STDIN_FILENO) == getpgrp() &&
                    tcgetattr(STDIN_FILENO, &terminal.before) == 0;
    terminal.screen = screen;
    atexit(terminal_end);
    terminal_take();
}

/* ---- Drawing ---- */

static struct winsize size_of_screen(void)
{
    struct winsize size = {.ws_row = 0};

    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || !size.ws_row || !size.ws_col)
        size = (struct winsize){.ws_row = 24, .ws_col = 80};
    return size;
}

size_t terminal_lines(void)
{
    return size_of_screen().ws_row - 1u;
}

/* Bytes of a line that hold at most `width` characters. */
static size_t cut(const char *line, size_t bytes, size_t width)
{
    size_t at = 0;

    while (at < bytes) {
        bool begins = ((unsigned char)line[at] & 0xC0) != 0x80; /* UTF-8 */

        if (begins && !width)
            break;
        width -= begins;
        at++;
    }
    return at;
}

void terminal_draw(const char *text)
{
    struct winsize size = size_of_screen();

    fputs("\033[H", stdout);
    for (unsigned line = 1; *text && line < size.ws_row; line++) {
        size_t bytes = strcspn(text, "\n");

        fwrite(text, 1, cut(text, bytes, size.ws_col), stdout);
        fputs("\033[K\r\n", stdout);
        text += bytes + (text[bytes] == '\n');
    }
    fputs("\033[J", stdout);
    fflush(stdout);
}

/* ---- Waiting ---- */

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Reads the keys that have come; true if one of them ends the command. */
static bool key_leaves(void)
{
    char keys[16];
    ssize_t bytes = read(STDIN_FILENO, keys, sizeof keys);

    if (bytes == 0 || (bytes < 0 && errno != EINTR && errno != EAGAIN))
        return true; /* the terminal is gone */
    for (ssize_t i = 0; i < bytes; i++) {
        if (keys[i] == 'q' || keys[i] == 'Q' || keys[i] == 3)
            return true;
    }
    return false;
}

/* One poll; returns TERMINAL_TIME also if there was only a key without a meaning. */
static enum terminal_event wait_once(int64_t ms, int file)
{
    struct pollfd files[2] = {
        {.fd = terminal.keys ? STDIN_FILENO : -1, .events = POLLIN},
        {.fd = file, .events = POLLIN},
    };
    const struct timespec limit = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

    if (!terminal.leave && !terminal.draw)
        ppoll(files, 2, &limit, &terminal.unblocked);
    if (terminal.leave)
        return TERMINAL_LEAVE;
    if (terminal.draw) {
        terminal.draw = 0;
        return TERMINAL_DRAW;
    }
    if (files[0].revents && key_leaves())
        return TERMINAL_LEAVE;
    return files[1].revents ? TERMINAL_FILE : TERMINAL_TIME;
}

enum terminal_event terminal_wait(int ms, int file)
{
    int64_t until = now_ms() + ms;
    int64_t left = ms;
    enum terminal_event event;

    do {
        event = wait_once(left, file);
        left = until - now_ms();
    } while (event == TERMINAL_TIME && left > 0);
    return event;
}
