/* The flight recorder's files: where they go and what they are called.
 *
 * A file is written as NAME.part and gets its name when it is complete, so that whoever waits for
 * traces in the folder finds complete ones only. The first is called what MINIPROF_OUTPUT says,
 * the next ones have the numbers from 2 on, as those of programs that came by exec (output.h).
 *
 * Descriptors are not to be relied upon for days: a program closes all of them, or uses them up. So
 * the folder is held open, looked at before each use, and given up for a descriptor if need be.
 *
 * Owned by the writer thread.
 */
#ifndef MP_RECORD_FLIGHT_FILE_H
#define MP_RECORD_FLIGHT_FILE_H

#include <limits.h>
#include <stddef.h>

#include "base/status.h"

struct output;

/* output->path and place are set: looks whether a file can be made there. */
enum mp_status flight_file_prepare(struct output *output, struct mp_error *error);

/* Makes the file and opens it in output->fd. */
enum mp_status flight_file_begin(struct output *output, struct mp_error *error);

/* Closes it, gives it its name and copies that, as the user would write it, to `path`. */
enum mp_status flight_file_publish(struct output *output, char *path, size_t size,
                                   struct mp_error *error);

/* Closes and removes it. */
void flight_file_discard(struct output *output);

/* Closes the folder. */
void flight_file_close(struct output *output);

#endif
