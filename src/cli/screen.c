/* The stream behind stdout on a terminal: bytes become lines, lines are broken and coloured, and
 * wait until it is known whether they fit on the screen. If they do they are printed, else a pager
 * gets them and what follows.
 */
#include "cli/screen.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/data/storage.h"
#include "cli/pager.h"
#include "cli/progress.h"
#include "cli/size.h"
#include "cli/wrap.h"

#include "base/poison.h"

static struct {
    FILE *stream; /* NULL: there is no screen */
    int file;
    struct screen_options options;
    struct screen_size size;
    struct mp_buffer line; /* bytes since the last newline */
    struct mp_buffer held; /* lines that wait for the pager */
    unsigned held_lines;
    bool holds;
    bool left; /* the person has left the pager: nobody reads what follows */
    bool failed;
    struct pager pager;
} screen;

/* ---- Writing ---- */

static bool write_all(int file, const char *text, size_t bytes)
{
    while (bytes) {
        ssize_t written = write(file, text, bytes);

        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        text += written;
        bytes -= (size_t)written;
    }
    return true;
}

/* To the pager if one runs, else to the terminal. */
static bool pass_on(const char *text, size_t bytes)
{
    if (screen.left)
        return true;
    if (!screen.pager.pid)
        return write_all(screen.file, text, bytes);
    screen.left = !write_all(screen.pager.pipe, text, bytes);
    return true; /* leaving a pager early is no failure */
}

static bool release(void)
{
    bool good = pass_on((const char *)screen.held.data, screen.held.size);

    screen.holds = false;
    mp_buffer_free(&screen.held);
    return good;
}

/* A piece of a line that is laid out. */
static bool put(const char *text, size_t bytes)
{
    if (!screen.holds)
        return pass_on(text, bytes);
    if (mp_buffer_append(&screen.held, text, bytes) != MP_OK)
        return release() && pass_on(text, bytes);
    for (size_t i = 0; i < bytes; i++)
        screen.held_lines += text[i] == '\n';
    if (screen.held_lines < screen.size.lines)
        return true;
    (void)pager_begin(&screen.pager);
    return release();
}

static bool put_line(void)
{
    bool good =
        wrap_line((const char *)screen.line.data, screen.line.size,
                  screen.options.wrap ? screen.size.columns : 0, screen.options.colour, put);

    mp_buffer_clear(&screen.line);
    return good;
}

static bool take_lines(const char *text, size_t bytes)
{
    while (bytes) {
        const char *end = memchr(text, '\n', bytes);
        size_t length = end ? (size_t)(end - text) : bytes;

        if (mp_buffer_append(&screen.line, text, length) != MP_OK)
            return false;
        if (end && !put_line())
            return false;
        length += end != NULL;
        text += length;
        bytes -= length;
    }
    return true;
}

/* fopencookie's; 0 is a failure. */
static ssize_t take(void *cookie, const char *text, size_t bytes)
{
    bool laid_out = screen.options.wrap || screen.options.colour;

    (void)cookie;
    progress_end();
    if (laid_out ? take_lines(text, bytes) : put(text, bytes))
        return (ssize_t)bytes;
    screen.failed = true;
    return 0;
}

/* ---- Begin and end ---- */

void screen_begin(int file, const struct screen_options *options)
{
    FILE *stream;

    if (screen.stream)
        return;
    fflush(stdout);
    stream = fopencookie(NULL, "w", (cookie_io_functions_t){.write = take});
    if (!stream)
        return;
    screen.stream = stream;
    screen.file = file;
    screen.options = *options;
    screen.size = screen_size_of(file);
    screen.holds = options->page;
    stdout = stream;
}

static bool put_on_stderr(const char *text, size_t bytes)
{
    return fwrite(text, 1, bytes, stderr) == bytes;
}

void screen_complain(const char *line, size_t bytes)
{
    bool terminal = isatty(STDERR_FILENO);
    unsigned columns = terminal ? screen_size_of(STDERR_FILENO).columns : 0;
    bool pages = screen.stream && (screen.holds || screen.pager.pid);

    (void)wrap_line(line, bytes, columns, false, terminal && pages ? put : put_on_stderr);
}

bool screen_end(void)
{
    if (!screen.stream)
        return true;
    if (fflush(screen.stream) != 0)
        screen.failed = true;
    if (screen.line.size && !put_line())
        screen.failed = true;
    if (screen.holds && !release())
        screen.failed = true;
    mp_buffer_free(&screen.line);
    pager_end(&screen.pager);
    return !screen.failed;
}
