/* The trace file: its name, its header, its end.
 *
 * The recorder creates the file while the application waits in cuInit, so a folder that is not
 * writable is reported at once. If a process never makes a context (a helper that only asks for the
 * number of GPUs), the recorder removes its empty file again.
 */
#ifndef MP_RECORD_PROCESS_OUTPUT_H
#define MP_RECORD_PROCESS_OUTPUT_H

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "base/data/storage.h"
#include "base/status.h"
#include "trace/write/writer.h"

struct recorder;

struct trace_file {
    char path[PATH_MAX];  /* as the user wrote it, for messages */
    char place[PATH_MAX]; /* absolute: the program may change its folder */
    int fd;               /* the writer's; kept to close it in a forked child */
    dev_t device;
    ino_t inode; /* of the file that was created: only this file is ever written or removed */

    /* The flight recorder's: process/flight.h. */
    int folder; /* -1: none is open */
    dev_t folder_device;
    ino_t folder_inode;
    unsigned number; /* of the last file that was published, from 1 */
};

/* Creates the file that MINIPROF_OUTPUT names, and its folder, and starts the trace in it.
 *
 * No file is overwritten. A program that becomes another one by exec keeps its process id, so the
 * new program finds the name taken by its own earlier trace: after "a.mpt" it writes "a.2.mpt", up
 * to 99. If any other file has the name, the recorder takes the first free one of "a.1.mpt",
 * "a.2.mpt" and so on, and says so. If the name is taken by something that is not a regular file,
 * that is an error.
 */
enum mp_status output_open(struct recorder *recorder, struct mp_writer **writer,
                           struct mp_error *error);

/* Expands MINIPROF_OUTPUT into path and place. */
enum mp_status output_expand(struct recorder *recorder, struct mp_error *error);

/* The text of a header, with its NUL. MP_ERR_MEMORY or, when it is too long, MP_ERR_LIMIT. */
enum mp_status output_compose_header(struct mp_buffer *header, const struct recorder *recorder);

/* Whether the file is a trace of a process with our id: of this process, also before an exec, or of
 * an old process that had the same id. `folder`: a descriptor or AT_FDCWD. */
bool output_is_from_this_pid(int folder, const char *path);

/* Removes the file, if it is still the one that was created. */
void output_remove(const struct trace_file *output);

/* Whether `fd` still is our file. The application may have closed the number and opened another
 * file under it. */
bool output_is_open(const struct trace_file *output);

/* If `fd` is no longer our file, opens the file again. Answers the new descriptor, -1 if that
 * fails. */
int output_open_again(struct trace_file *output);

/* A second descriptor, to ask for the size once the first is closed; -1 if none can be had. */
int output_hold(const struct trace_file *output);

/* Size of the file in bytes, 0 if unknown, and whether it was removed. Closes `held`. */
uint64_t output_bytes(const struct trace_file *output, int held, bool *is_gone);

#endif
