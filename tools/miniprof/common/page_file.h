/* Files that are there whole or not at all: pages. */
#ifndef MP_TOOL_COMMON_PAGE_FILE_H
#define MP_TOOL_COMMON_PAGE_FILE_H

#include <stdio.h>

/* Writes what a page holds; returns an exit code, after a complaint where it is EXIT_USAGE or more.
 */
typedef int page_writer(void *context, FILE *out);

/* Has `writer` write a file beside `path`, which is then put in its place: nobody sees half a page,
 * and where one cannot be written, or a signal ends the program, the old one stays. "-" is stdout;
 * a device or FIFO is written to, and where a symbolic link leads the file is replaced. A trace is
 * not: EXIT_USAGE. Returns the exit code of the writer, or EXIT_UNREADABLE, both after a complaint.
 */
int page_write(const char *command, const char *path, page_writer *writer, void *context);

#endif
