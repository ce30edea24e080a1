/* SQLite with this project's errors: one line that names the file, and a status. */
#ifndef MP_EXPORT_NVVP_DB_H
#define MP_EXPORT_NVVP_DB_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

struct nvvp_db {
    sqlite3 *handle;
    const char *path; /* by which errors name the file; the caller's */
};

/* Opens the empty file `file` for writing without a journal: after a failure it is of no use. */
enum mp_status nvvp_db_create(struct nvvp_db *db, const char *path, const char *file,
                              struct mp_error *error);

/* Opens a file for reading that nobody vouches for: its views and triggers are not run, no value
 * may be larger than 16 MiB. */
enum mp_status nvvp_db_open(struct nvvp_db *db, const char *path, struct mp_error *error);

/* All statements must be finalized before. A db that was never opened is allowed. */
void nvvp_db_close(struct nvvp_db *db);

/* The status and words for what SQLite answered last. */
enum mp_status nvvp_db_failed(const struct nvvp_db *db, struct mp_error *error);

/* Runs statements that give no rows. */
enum mp_status nvvp_db_run(const struct nvvp_db *db, const char *sql, struct mp_error *error);

/* Compiles one statement; *statement is the caller's to finalize, NULL on failure. */
enum mp_status nvvp_db_prepare(const struct nvvp_db *db, const char *sql, sqlite3_stmt **statement,
                               struct mp_error *error);

/* The next row: MP_OK, MP_END, or a failure. */
enum mp_status nvvp_db_step(const struct nvvp_db *db, sqlite3_stmt *statement,
                            struct mp_error *error);

/* Runs a statement whose values are bound, for its effect, and makes it ready for the next. */
enum mp_status nvvp_db_put(const struct nvvp_db *db, sqlite3_stmt *statement,
                           struct mp_error *error);

/* Whether there is an ordinary table (no view, no virtual table) of that name; with `column`,
 * whether it has that column. */
bool nvvp_db_has_table(const struct nvvp_db *db, const char *table);
bool nvvp_db_has_column(const struct nvvp_db *db, const char *table, const char *column);

#endif
