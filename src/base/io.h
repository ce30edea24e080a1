/* Files: system calls that finish what they begin, file names with nvprof's placeholders, and the
 * user's file of what recording costs.
 *
 * Interrupted and short calls are continued. error->text gives the operating system's reason
 * ("cannot write: No space left on device"). If a function does not know the path, its caller adds
 * the path. Any thread.
 */
#ifndef MP_BASE_IO_H
#define MP_BASE_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/status.h"

/* ---- Reading, writing, creating ---- */

/* Writes all bytes at the file's position. After MP_ERR_IO a part of them may be written, and errno
 * says why. */
enum mp_status mp_write_all(int fd, const void *data, size_t bytes, struct mp_error *error);

/* Reads exactly `bytes` bytes at the file's position. MP_END when the file ended before the first
 * byte, MP_ERR_DAMAGED when it ended between the first and the last. */
enum mp_status mp_read_exact(int fd, void *data, size_t bytes, struct mp_error *error);

/* The same at `offset`. The file's position does not move, so threads may share the descriptor. */
enum mp_status mp_pread_exact(int fd, void *data, size_t bytes, uint64_t offset,
                              struct mp_error *error);

/* Creates a file that did not exist: mode 0600 whatever the umask, close-on-exec, never through a
 * symbolic link. *fd can read and write, is above 2, and is the caller's to close. Nobody else may
 * read a trace, because it may tell what the application computes. */
enum mp_status mp_create_exclusive(const char *path, int *fd, struct mp_error *error);

/* The same for a name that is relative to `folder`, a descriptor or AT_FDCWD. */
enum mp_status mp_create_exclusive_at(int folder, const char *path, int *fd,
                                      struct mp_error *error);

/* Opens an output file for writing. A new file has mode 0600, because it says as much as a trace;
 * an existing one keeps its mode. `flags` are O_EXCL, O_TRUNC or O_NONBLOCK. -1: errno says why.
 * The caller closes it. The descriptor may be 0, 1 or 2. */
int mp_open_output(const char *path, int flags);

/* The same as a stream; NULL: errno says why. */
FILE *mp_output_stream(const char *path, int flags);

/* Gives the new file `fd` the group and mode of the file `path` of `folder` that it will replace.
 * `fd` keeps its own mode if there is no such file, if that file has another owner, or if its group
 * cannot be set. */
void mp_keep_mode(int fd, int folder, const char *path);

/* Creates the missing folders that lead to the file `path`, with access for the user only.
 * MP_ERR_IO, also if a file is in the way. */
enum mp_status mp_make_folders(const char *path, struct mp_error *error);

/* Gives `fd` a number above those of stdin, stdout and stderr. If the process has closed these, its
 * output to them must not get into a file of ours. On failure returns -1, with `fd` closed. */
int mp_move_descriptor(int fd);

/* How many of the first `bytes` bytes of a file are no holes: what a hole holds takes no room on
 * disk, though it counts for the file's size. All of them where the file system knows of no holes.
 * Moves the file's position. */
uint64_t mp_data_bytes(int fd, uint64_t bytes);

/* Opens a regular file for reading, close-on-exec, with its size in *bytes. The error says so if
 * the path is a folder or another kind of file. *fd is the caller's to close. */
enum mp_status mp_open_file(const char *path, int *fd, uint64_t *bytes, struct mp_error *error);

/* ---- Names with placeholders ----
 *
 * File names with nvprof's placeholders:
 *
 *     %p        process id
 *     %h        host name
 *     %q{NAME}  environment variable NAME
 *     %r        rank of the process as the usual launchers set it; 0 without a launcher
 *     %%        a percent sign
 *
 * Anything else after a % is an error.
 */

/* Whether `pattern` is well formed, whatever the environment holds: MP_OK or MP_ERR_ARGUMENT. */
enum mp_status mp_pattern_check(const char *pattern, struct mp_error *error);

/* Whether `pattern`, which is well formed, has a %p. */
bool mp_pattern_has_pid(const char *pattern);

/* Writes `pattern` with its placeholders filled in to `buffer`, NUL-terminated. MP_ERR_ARGUMENT for
 * a malformed pattern or a variable that is not set, MP_ERR_LIMIT when `size` is too small;
 * `buffer` then holds an empty string. Reads the environment with secure_getenv. */
enum mp_status mp_pattern_expand(const char *pattern, char *buffer, size_t size,
                                 struct mp_error *error);

/* If a trace's name is taken, the trace gets the first free number from 1 to this one; after exec,
 * which keeps the process id, from 2. */
#define MP_PATTERN_LAST_NUMBER 9999u

/* Writes `path` with a number to `buffer`: "a.mpt" becomes "a.2.mpt", any other "a" becomes "a.2".
 * False when `size` is too small. */
bool mp_pattern_number(const char *path, unsigned number, char *buffer, size_t size);

/* ---- The user's file of what recording costs ----
 *
 * `miniprof calibrate` writes it (profile/costs.h has its form). The recorder copies it into
 * each trace, and reports read it. The file is never read for a privileged process: then
 * secure_getenv finds no folder.
 */

#define MP_COSTS_BYTES 16384u /* of its text, at most */

/* $XDG_CACHE_HOME/miniprof/recording-costs, else $HOME/.cache/miniprof/recording-costs. A variable
 * that holds no absolute path is as if it were not set. False: neither is set, or the path is too
 * long. */
bool mp_costs_path(char *path, size_t size);

/* The text of the file with a NUL. False if there is none, if it is longer than MP_COSTS_BYTES, or
 * if it has bytes other than printable ASCII and line breaks. Any thread. */
bool mp_costs_read(char text[MP_COSTS_BYTES + 1]);

#endif
