/* The trace file: its name, its header, its end.
 *
 * It is created while the application waits in cuInit, so that a folder that cannot be written to
 * is said at once; a process that never makes a context (a helper that only asks for the number of
 * GPUs) has its empty file removed again.
 */
#ifndef MP_RECORD_OUTPUT_H
#define MP_RECORD_OUTPUT_H

#include <limits.h>
#include <sys/stat.h>

#include "base/status.h"
#include "trace/writer.h"

struct recorder;

struct output {
    char path[PATH_MAX];
    int fd; /* the writer's; kept to close it in a forked child */
    dev_t device;
    ino_t inode; /* of the file that was created: only that one is ever removed */
};

/* Creates the file that MINIPROF_OUTPUT names and starts the trace in it. */
enum mp_status output_open(struct recorder *recorder, struct mp_writer **writer,
                           struct mp_error *error);

/* Removes the file, if it is still the one that was created. */
void output_remove(const struct output *output);

/* Size of the closed file, bytes; 0 if it is gone. */
uint64_t output_bytes(const struct output *output);

#endif
