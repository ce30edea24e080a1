/* A screen of lines that is drawn again and again, and keys that are read while it waits.
 *
 * The terminal is put back at the end of the process whatever ends it: exit, a signal that ends it,
 * a crash. Ctrl-Z puts it back too, until the process goes on. One screen a process.
 */
#ifndef MP_TOOL_COMMON_TERMINAL_H
#define MP_TOOL_COMMON_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

/* What ended a wait. */
enum terminal_event {
    TERMINAL_TIME,  /* the time is over */
    TERMINAL_LEAVE, /* q, Ctrl-C, the end of input, or a signal that ends a process */
    TERMINAL_DRAW,  /* the size has changed, or the process goes on after Ctrl-Z */
    TERMINAL_FILE   /* `file` has something to say */
};

/* Takes signals from now on; the keys, if stdin and stdout are terminals; and with `screen` the
 * screen too, which stdout must be. */
void terminal_begin(bool screen);

/* Puts all back. */
void terminal_end(void);

/* Lines that fit on the screen, less the last one. */
size_t terminal_lines(void);

/* Draws text of lines from the upper left corner on, each cut to the width. */
void terminal_draw(const char *text);

/* Waits for `ms`, for keys if they were taken, and for `file`; -1: none. */
enum terminal_event terminal_wait(int ms, int file);

#endif
