/* The streams in front of standard output: on a terminal a screen, and for a command line that may
 * still turn out to be wrong a hold.
 */
#ifndef MP_CLI_SCREEN_H
#define MP_CLI_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

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
