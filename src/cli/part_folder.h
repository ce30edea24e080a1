/* Writes folders whose files are either all there or not there, as page_file.h does for a file. */
#ifndef MP_CLI_PART_FOLDER_H
#define MP_CLI_PART_FOLDER_H

#include <stdbool.h>

/* Writes files into `folder`. Returns an exit code; if it is EXIT_USAGE or more, the writer has
 * complained. It stops soon, with such a code and without a complaint, when part_folder_stopped. */
typedef int folder_writer(void *context, const char *folder);

/* Has `writer` fill a folder beside `path`, which then becomes `path`. If `path` is a folder
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
