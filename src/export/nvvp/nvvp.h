/* nvprof's own files: SQLite databases with one table for each CUPTI activity kind (`-o`, `-i`).
 *
 * If nvprof's schema has a column for a value, the value is in nvprof's table, where programs
 * written for nvprof's files find it. Everything else is in tables of ours, MINIPROF_*, which
 * those programs ignore. A file with our tables is read back as the trace that it was made from,
 * row by row. A file without them, such as nvprof's own, gives what its tables hold. docs/nvvp.md
 * says what stands where.
 *
 * A build without SQLite has these functions too: both answer MP_ERR_UNSUPPORTED and say what to
 * install. Memory is bounded by the trace's definitions (names, shapes, streams), not by its rows.
 */
#ifndef MP_EXPORT_NVVP_NVVP_H
#define MP_EXPORT_NVVP_NVVP_H

#include <miniprof/trace.h>
#include <stdbool.h>

#include "base/status.h"

/* Writes the trace as a new file `path`, mode 0600. MP_ERR_IO with the reason if the file exists
 * already, cannot be created or the disk is full; then no file is left behind. Never
 * MP_ERR_DAMAGED: the readable part of a trace is written. */
enum mp_status nvvp_write(struct mp_trace *trace, const char *path, struct mp_error *error);

/* Reads the file `path` and writes it as a trace into `fd`, an empty file open for reading and
 * writing. `fd` stays open and the caller's; after a failure its contents are useless. MP_ERR_IO
 * (cannot open or read), MP_ERR_FORMAT (no SQLite file, or none of nvprof's), MP_ERR_DAMAGED
 * (SQLite cannot read on, or a value is unusable), MP_ERR_MEMORY.
 *
 * Two quality counters say what of one of nvprof's files is not in the trace:
 * `nvvp_tables_unknown`, `nvvp_names_missing`. */
enum mp_status nvvp_read(const char *path, int fd, struct mp_error *error);

/* The version of the SQLite that is used; NULL in a build without. */
const char *nvvp_library(void);

/* Whether `path` is a regular file that begins as SQLite files do. */
bool nvvp_is(const char *path);

#endif
