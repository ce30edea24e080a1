/* System calls on files that finish what they begin: interrupted and short calls are continued.
 *
 * error->text gives the operating system's reason ("cannot write: No space left on device"). If a
 * function does not know the path, its caller adds the path. Any thread.
 */
#ifndef MP_BASE_IO_H
#define MP_BASE_IO_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/status.h"

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

#endif
