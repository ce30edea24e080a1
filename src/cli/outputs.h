/* Output files and folders that are either complete or not there. */
#ifndef MP_CLI_OUTPUTS_H
#define MP_CLI_OUTPUTS_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

/* Complains with errno; returns EXIT_UNREADABLE. */
int cannot_write(const char *command, const char *path);

/* `run/app` of `run/app.mpt`, `run` of `run/`: what an output is called by itself. Returns false if
 * that is no name, as of `..`, or too long. */
bool output_stem(const char *trace, char stem[PATH_MAX]);

/* ---- Files ---- */

/* Writes the contents of a page. Returns an exit code; if it is EXIT_USAGE or more, the writer has
 * complained.
 */
typedef int page_writer(void *context, FILE *out);

/* Has `writer` write a file next to `path`, which then replaces `path`. So nobody sees half a page.
 * If the page cannot be written, or a signal ends the program, the old file stays. A new file is
 * for its user only; one that replaces another has the mode of that one. "-" is stdout. A device or
 * FIFO is written to directly; for a symbolic link the file that it leads to is replaced. A trace
 * is not replaced: EXIT_USAGE. Returns the writer's exit code, or EXIT_UNREADABLE, both after a
 * complaint.
 */
int page_write(const char *command, const char *path, page_writer *writer, void *context);

/* ---- Folders ---- */

/* Writes files into `folder`. Returns an exit code; if it is EXIT_USAGE or more, the writer has
 * complained. It stops soon, with such a code and without a complaint, when part_folder_stopped. */
typedef int folder_writer(void *context, const char *folder);

/* Has `writer` fill a folder next to `path`, which then becomes `path`. If `path` is a folder
 * already, the new files replace those of the same names there. If something fails, or a signal
 * ends the program, nothing is left. Returns the writer's exit code, or EXIT_UNREADABLE, both after
 * a complaint. */
int part_folder_write(const char *command, const char *path, folder_writer *writer, void *context);

/* Has `writer` fill a hidden folder inside of `folder`, from which it moves what is complete. Then
 * the folder goes, with all that is left in it. Several hosts may do so at the same time. Returns
 * the same. */
int part_folder_inside(const char *command, const char *folder, folder_writer *writer,
                       void *context);

/* Whether a signal has asked the program to end while a folder is written. */
bool part_folder_stopped(void);

#endif
