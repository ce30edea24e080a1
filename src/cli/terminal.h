/* A screen of lines that is drawn repeatedly, and keys that are read while it waits.
 *
 * The terminal's settings are restored at the end of the process, whatever ends it: exit, a signal,
 * a crash. Ctrl-Z restores them too, until the process continues. One screen a process.
 */
#ifndef MP_CLI_TERMINAL_H
#define MP_CLI_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

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

#endif
