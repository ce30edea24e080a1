/* nvprof's own files: SQLite databases with one table for each CUPTI activity kind (`-o`, `-i`).
 *
 * What nvprof's schema has a column for stands in its tables, so that programs written for nvprof's
 * files find it there; the rest stands in tables of ours, MINIPROF_*, which they pass over. With
 * those a file comes back as the trace that it was made from, row by row; without them, as a file
 * of nvprof's does, it gives what its tables hold. docs/nvvp.md says what stands where.
 *
 * A build without SQLite has these functions too: both answer MP_ERR_UNSUPPORTED and say what to
 * install. Memory is bounded by the trace's definitions (names, shapes, streams), not by its rows.
 */
#ifndef MP_EXPORT_NVVP_NVVP_H
#define MP_EXPORT_NVVP_NVVP_H

#include <miniprof/trace.h>
#include <stdbool.h>

#include "base/status.h"

/* Writes the trace as a new file `path`, mode 0600. MP_ERR_IO with the reason when it exists
 * already, cannot be created or the disk is full; then nothing is left behind. MP_ERR_DAMAGED
 * never: what of the trace can be read is written. */
enum mp_status nvvp_write(struct mp_trace *trace, const char *path, struct mp_error *error);

/* Reads the file `path` and writes it as a trace into `fd`, an empty file open for reading and
 * writing, which stays open and the caller's; its contents are of no use after a failure.
 * MP_ERR_IO (cannot open or read), MP_ERR_FORMAT (no SQLite file, or none of nvprof's),
 * MP_ERR_DAMAGED (SQLite cannot read on, or a value is of no use), MP_ERR_MEMORY.
 *
 * Quality counters say what of a file of nvprof's found no place: `nvvp_tables_unknown`,
 * `nvvp_names_missing`. */
enum mp_status nvvp_read(const char *path, int fd, struct mp_error *error);

/* Whether `path` is a regular file that begins as SQLite files do. */
bool nvvp_is(const char *path);

#endif
