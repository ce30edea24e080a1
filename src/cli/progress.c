/* A line on stderr, drawn by a timer's signal: analyses need no hooks for it. The handler calls
 * write and nothing else that could be in use when the signal comes.
 */
#include "cli/progress.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/text/foreign.h"
#include "base/text/units.h"
#include "cli/size.h"
#include "table/table.h"

#include "base/poison.h"

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

static void write_text(const char *text, size_t bytes)
{
    ssize_t ignored = write(STDERR_FILENO, text, bytes);

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
    size_t bytes;

    (void)number;
    if (!progress.runs)
        return;
    progress.seconds++;
    memcpy(line, progress.text, progress.bytes);
    bytes = append_seconds(line, progress.bytes, (unsigned)progress.seconds);
    write_text(line, bytes);
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
    write_text("\r", 1);
    for (size_t i = 0; i < progress.columns; i++)
        write_text(" ", 1);
    write_text("\r", 1);
}
