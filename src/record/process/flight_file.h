/* The flight recorder's files: where they go and what they are called.
 *
 * A file is written as NAME.part and renamed when it is complete, so a program that watches the
 * folder finds complete traces only. The first file has the name that MINIPROF_OUTPUT says. The
 * next ones are numbered from 2 on, like those of programs started by exec (output.h).
 *
 * A descriptor may not survive for days: a program may close all descriptors, or use all of them.
 * So the folder is held open and checked before each use. If no descriptor is free for the file,
 * the folder's is closed.
 *
 * Owned by the writer thread.
 */
#ifndef MP_RECORD_FLIGHT_FILE_H
#define MP_RECORD_FLIGHT_FILE_H

#include <limits.h>
#include <stddef.h>

#include "base/status.h"

struct trace_file;

/* Checks whether a file can be made in the folder of output->path and place, which are set. */
enum mp_status flight_file_prepare(struct trace_file *output, struct mp_error *error);

/* Creates the file and opens it as output->fd. */
enum mp_status flight_file_begin(struct trace_file *output, struct mp_error *error);

/* Closes the file and gives it its final name. `path` gets that name, as the user would write it.
 */
enum mp_status flight_file_publish(struct trace_file *output, char *path, size_t size,
                                   struct mp_error *error);

/* Closes and removes the file. */
void flight_file_discard(struct trace_file *output);

/* Closes the folder. */
void flight_file_close(struct trace_file *output);

#endif
