/* Terminals: their size, a line of progress on stderr, and a screen that is drawn repeatedly. */
#ifndef MP_CLI_TERMINAL_H
#define MP_CLI_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

/* ---- Its size ---- */

struct screen_size {
    unsigned columns, lines;
};

/* Whether the file is a terminal that can do more than print lines: TERM is set, and not "dumb". */
bool screen_is_able(int file);

/* Of the terminal `file`, else of COLUMNS and LINES, else 80 by 24; at least 10 by 2. */
struct screen_size screen_size_of(int file);

/* ---- Progress ----
 *
 * What a command is busy with, if that takes over a second and somebody looks at a terminal.
 */

/* From a second on, and each second, stderr says how long `path` has been worked on. Nothing is
 * printed unless stderr is a terminal and nothing else writes to it: stdout is the same terminal,
 * or a file. */
void progress_begin(const char *path);

/* The same for a command that goes through many traces quickly: "added 12 of 2000: 3 s". Each call
 * changes the numbers; the first has `done` 0. */
void progress_count(size_t done, size_t count);

/* Wipes the line. Whatever prints has to call it first; calls without a begin do nothing. */
void progress_end(void);

/* ---- A screen that is drawn repeatedly ----
 *
 * Keys are read while it waits. The terminal's settings are restored at the end of the process,
 * whatever ends it: exit, a signal, a crash. Ctrl-Z restores them too, until the process continues.
 * One screen a process.
 */

/* What ended a wait. */
enum terminal_event {
    TERMINAL_TIME,  /* the time is over */
    TERMINAL_LEAVE, /* q, Ctrl-C, the end of input, or a signal that ends a process */
    TERMINAL_DRAW,  /* the size has changed, or the process goes on after Ctrl-Z */
    TERMINAL_FILE   /* `file` has something to say */
};

/* Handles signals from now on, and reads keys if stdin and stdout are terminals. With `screen` it
 * also takes over the screen; stdout must then be a terminal. */
void terminal_begin(bool screen);

/* Puts all back. */
void terminal_end(void);

/* Lines that fit on the screen, minus the last one. */
size_t terminal_lines(void);

/* Draws lines of text from the upper left corner, each cut to the width. */
void terminal_draw(const char *text);

/* Waits for `ms`, for keys if they were taken, and for `file`; -1: none. */
enum terminal_event terminal_wait(int ms, int file);

/* ---- The screen ----
 *
 * Standard output when it is a terminal: lines are broken at words instead of wherever the terminal
 * ends, and what is longer than the terminal goes through a pager. Without a terminal nothing of
 * this is used, and what is printed reaches its reader byte for byte.
 *
 * screen_begin replaces the variable `stdout`, which glibc allows, by a stream that passes through
 * here; so every printf of a command is laid out. One screen a process.
 */

struct screen_options {
    bool wrap;   /* break lines at the terminal's width */
    bool colour; /* warnings and notes */
    bool page;   /* a pager if there are more lines than the terminal has */
};

/* From now on stdout, which writes to `file`, passes through here. Does nothing if there is a
 * screen already or memory is out. */
void screen_begin(int file, const struct screen_options *options);

/* Prints a complaint, without its newline, on stderr; to the pager if what was printed before waits
 * for one, and stderr is the same terminal. */
void screen_complain(const char *line, size_t bytes);

/* Prints what is left and waits for the pager. False if something could not be written. */
bool screen_end(void);

/* ---- Output that waits ----
 *
 * It waits until it is known whether there will be any: a mistake in the command line that shows
 * only while tables are printed is then all that is printed. hold_begin replaces the variable
 * `stdout` as screen_begin does. One hold a process.
 */

/* From now on what goes to stdout is kept in memory until *open; from then on it passes through.
 * Does nothing when memory is out. */
void hold_begin(const bool *open);

/* Writes what is kept, or forgets it, and puts stdout back, whose error indicator says whether all
 * was written. Without a hold nothing happens. */
void hold_end(bool wanted);

#endif
