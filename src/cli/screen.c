/* The streams in front of stdout: the screen breaks and colours lines and starts a pager, the hold
 * keeps what is written to it.
 */
#include "cli/terminal.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/data/storage.h"
#include "cli/program.h"
#include "table/view.h"

#include "base/poison.h"

/* ---- Breaking a line ----
 *
 * Breaks a line that is longer than the terminal at its last space, as a typesetter would, and not
 * in the middle of a word. Tables never get here: they are fitted before they are printed.
 */

/* What takes the lines; false if it cannot. */
typedef bool wrap_put(const char *text, size_t bytes);

/* Passes a line, without its newline, in lines of at most `width` columns (0: any), each with a
 * newline. Later lines are indented to where the first one's text begins. */
bool wrap_line(const char *line, size_t bytes, unsigned width, bool colour, wrap_put *put);

#define ESCAPE '\033'

/* Bytes of the escape sequence "ESC [ ... m" at `text`; 0: there is none. */
static size_t escape_bytes(const char *text, size_t bytes)
{
    size_t at = 2;

    if (bytes < 3 || text[0] != ESCAPE || text[1] != '[')
        return 0;
    while (at < bytes && (isdigit((unsigned char)text[at]) || text[at] == ';'))
        at++;
    return at < bytes && text[at] == 'm' ? at + 1 : 0;
}

/* Bytes of the character or the escape sequence at `text`, and the columns that it takes. */
static size_t next_character(const char *text, size_t bytes, size_t *columns)
{
    size_t length = escape_bytes(text, bytes);

    *columns = 0;
    if (length)
        return length;
    length = 1;
    while (length < bytes && ((unsigned char)text[length] & 0xc0) == 0x80)
        length++;
    *columns = report_columns_of(text, length);
    return length;
}

static size_t columns_of(const char *line, size_t bytes)
{
    size_t total = 0;
    size_t columns;

    for (size_t at = 0; at < bytes; total += columns)
        at += next_character(line + at, bytes - at, &columns);
    return total;
}

/* Bytes of "==123== " or "======== " that the line begins with. */
static size_t prefix_bytes(const char *line, size_t bytes)
{
    size_t at = 0;

    while (at < bytes && (line[at] == '=' || (at > 1 && isdigit((unsigned char)line[at]))))
        at++;
    return at > 4 && at < bytes && line[at] == ' ' ? at + 1 : 0;
}

/* The column at which what continues a line begins: after the prefix, or at the value of a line
 * such as "key      value", else two more than the line itself. */
static size_t hang_of(const char *line, size_t bytes, size_t width)
{
    size_t prefix = prefix_bytes(line, bytes);
    size_t begin = 0;

    if (prefix)
        return prefix <= width / 3 ? prefix : 2;
    while (begin < bytes && line[begin] == ' ')
        begin++;
    for (size_t at = begin; at + 1 < bytes && at < width; at++) {
        if (line[at] != ' ' || line[at + 1] != ' ')
            continue;
        while (at < bytes && line[at] == ' ')
            at++;
        return at <= width / 2 ? at : 2;
    }
    return begin + 2 <= width / 3 ? begin + 2 : 2;
}

/* Bytes of the line's begin that fit into `room` columns: up to a space if there is one in the
 * later half. */
static size_t fitting_bytes(const char *line, size_t bytes, size_t room)
{
    size_t at = 0;
    size_t space = 0;
    size_t used = 0;

    while (at < bytes) {
        size_t columns;
        size_t length = next_character(line + at, bytes - at, &columns);

        if (used + columns > room)
            break;
        if (line[at] == ' ' && used * 2 >= room)
            space = at;
        used += columns;
        at += length;
    }
    if (at == bytes || line[at] == ' ')
        return at;
    return space ? space : at ? at : 1;
}

static bool put_spaces(wrap_put *put, size_t count)
{
    static const char spaces[] = "                                ";

    for (; count >= sizeof spaces; count -= sizeof spaces - 1) {
        if (!put(spaces, sizeof spaces - 1))
            return false;
    }
    return put(spaces, count);
}

static bool put_wrapped(const char *line, size_t bytes, size_t width, wrap_put *put)
{
    size_t hang = hang_of(line, bytes, width);
    size_t room = width;

    while (columns_of(line, bytes) > room) {
        size_t taken = fitting_bytes(line, bytes, room);

        if (!put(line, taken) || !put("\n", 1) || !put_spaces(put, hang))
            return false;
        while (taken < bytes && line[taken] == ' ')
            taken++;
        line += taken;
        bytes -= taken;
        room = width - hang;
    }
    return put(line, bytes);
}

static bool begins_with(const char *text, size_t bytes, const char *word)
{
    return bytes >= strlen(word) && !memcmp(text, word, strlen(word));
}

static enum report_tone tone_of(const char *line, size_t bytes)
{
    size_t prefix = prefix_bytes(line, bytes);

    if (!prefix)
        return REPORT_TONE_PLAIN;
    if (begins_with(line + prefix, bytes - prefix, "Warning:"))
        return REPORT_TONE_WARNING;
    if (begins_with(line + prefix, bytes - prefix, "Note:"))
        return REPORT_TONE_QUIET;
    return REPORT_TONE_PLAIN;
}

bool wrap_line(const char *line, size_t bytes, unsigned width, bool colour, wrap_put *put)
{
    enum report_tone tone = colour ? tone_of(line, bytes) : REPORT_TONE_PLAIN;
    const char *begin = report_tone_text(tone);
    const char *end = *begin ? REPORT_TONE_OFF : "";

    return put(begin, strlen(begin)) &&
           (width ? put_wrapped(line, bytes, width, put) : put(line, bytes)) &&
           put(end, strlen(end)) && put("\n", 1);
}

/* ---- The pager ----
 *
 * Starts a pager as git and man do: $PAGER by the shell, else less. A pager that is not there is
 * found out before anything is written into its pipe.
 */

struct pager {
    pid_t pid; /* 0: none runs */
    int pipe;  /* what it shows is written here */
};

#define USUAL_PAGER "less -FRX"

/* Whether the first word of the command line is a program that can be run. */
static bool is_there(const char *command)
{
    char word[PATH_MAX];
    char found[PATH_MAX];

    command += strspn(command, " \t");
    size_t bytes = strcspn(command, " \t");
    if (!bytes || bytes >= sizeof word)
        return false;
    memcpy(word, command, bytes);
    word[bytes] = '\0';
    return program_find(word, found);
}

static const char *pager_command(void)
{
    const char *wanted = getenv("PAGER");

    if (wanted && (!*wanted || !strcmp(wanted, "cat")))
        return NULL;
    if (!wanted)
        wanted = USUAL_PAGER;
    return is_there(wanted) ? wanted : NULL;
}

/* In the child, which has nothing else to lose. */
_Noreturn static void become_pager(const char *command, int input)
{
    signal(SIGINT, SIG_DFL);
    signal(SIGQUIT, SIG_DFL);
    signal(SIGPIPE, SIG_DFL);
    setenv("LESS", "FRX", 0);
    if (dup2(input, STDIN_FILENO) >= 0)
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    _exit(127);
}

/* Starts $PAGER, or less -FRX. False if there is none, or it is not wanted (PAGER is empty or cat);
 * that is no failure. Until pager_end this process ignores Ctrl-C, which is the pager's. */
static bool pager_begin(struct pager *pager)
{
    const char *command = pager_command();
    int ends[2];

    if (!command || pipe2(ends, O_CLOEXEC) != 0)
        return false;
    pager->pid = fork();
    if (pager->pid == 0)
        become_pager(command, ends[0]);
    close(ends[0]);
    if (pager->pid < 0) {
        close(ends[1]);
        pager->pid = 0;
        return false;
    }
    pager->pipe = ends[1];
    signal(SIGINT, SIG_IGN);
    signal(SIGQUIT, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    return true;
}

/* Closes the pipe and waits until the person leaves the pager. */
static void pager_end(struct pager *pager)
{
    if (!pager->pid)
        return;
    close(pager->pipe);
    while (waitpid(pager->pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    pager->pid = 0;
}

/* ---- The screen ----
 *
 * The stream that stdout is on a terminal: bytes become lines, lines are broken and coloured, and
 * wait until it is known whether they fit on the screen. If they do they are printed, else a pager
 * gets them and what follows.
 */

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

/* Part of a line that is laid out. */
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
    if (screen.stream)
        return;
    fflush(stdout);
    FILE *stream = fopencookie(NULL, "w", (cookie_io_functions_t){.write = take});
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

/* ---- Output that waits ---- */

static struct {
    FILE *to; /* stdout; NULL: nothing is held */
    const bool *open;
    struct mp_buffer kept;
} hold;

static bool pass_held(void)
{
    bool written =
        !hold.kept.size || fwrite(hold.kept.data, 1, hold.kept.size, hold.to) == hold.kept.size;

    mp_buffer_free(&hold.kept);
    return written;
}

static ssize_t hold_text(void *cookie, const char *text, size_t bytes)
{
    (void)cookie;
    if (!*hold.open && mp_buffer_append(&hold.kept, text, bytes) == MP_OK)
        return (ssize_t)bytes;
    return pass_held() ? (ssize_t)fwrite(text, 1, bytes, hold.to) : 0;
}

void hold_begin(const bool *open)
{
    FILE *front = fopencookie(NULL, "w", (cookie_io_functions_t){.write = hold_text});

    if (!front)
        return;
    hold.to = stdout;
    hold.open = open;
    stdout = front;
}

void hold_end(bool wanted)
{
    if (!hold.to)
        return;
    fclose(stdout);
    stdout = hold.to;
    if (wanted)
        pass_held();
    mp_buffer_free(&hold.kept);
    hold.to = NULL;
}
