/* Writes pages to files that are either complete or not there. */
#ifndef MP_CLI_PAGE_FILE_H
#define MP_CLI_PAGE_FILE_H

#include <stdio.h>

/* Writes the contents of a page. Returns an exit code; if it is EXIT_USAGE or more, the writer has
 * complained.
 */
typedef int page_writer(void *context, FILE *out);

/* Has `writer` write a file beside `path`, which then replaces `path`. So nobody sees half a page.
 * If the page cannot be written, or a signal ends the program, the old file stays. A new file is
 * for its user only; one that replaces another has the mode of that one. "-" is stdout. A device or
 * FIFO is written to directly; for a symbolic link the file that it leads to is replaced. A trace
 * is not replaced: EXIT_USAGE. Returns the writer's exit code, or EXIT_UNREADABLE, both after a
 * complaint.
 */
int page_write(const char *command, const char *path, page_writer *writer, void *context);

#endif
