/* Parquet files for DuckDB, ClickHouse, Spark and Trino, of one trace or of thousands:
 *
 *     OUT/runs/job=J/date=YYYY-MM-DD/host=H/rank=R/TABLE.parquet
 *
 * The summary tier (run, iteration, kernel_summary, api_summary, layer, advice, collective) is some
 * kilobytes a trace; export_options.events adds a row for each kernel, call and so on.
 * docs/export.md has the columns.
 */
#ifndef MP_EXPORT_LAKE_LAKE_H
#define MP_EXPORT_LAKE_LAKE_H

#include <sys/types.h>

#include "base/data/storage.h"
#include "export/format.h"

#define LAKE_MAX_NAME 127 /* bytes of a job's or host's name in the path; more are cut off */

/* Appends where the run of a process goes below OUT, without its rows:
 * "runs/job=J/date=YYYY-MM-DD/host=H/rank=R". A failure sticks to `path`. */
void lake_put_place(const struct export_process *process, struct mp_buffer *path);

/* Whether a character stands for itself in the path; others become `_`. */
bool lake_is_plain(char character);

/* Makes the folders of `path` that end at a `/` after the first `from` bytes. New ones get `mode`,
 * whatever the umask. Others may make them at the same time. MP_ERR_IO; `path` is as it was. */
enum mp_status lake_make_folders(char *path, size_t from, mode_t mode, struct mp_error *error);

#endif
