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

/* Opens the empty file `file` for writing without a journal, so after a failure the file is
 * useless. */
enum mp_status nvvp_db_create(struct nvvp_db *db, const char *path, const char *file,
                              struct mp_error *error);

/* Opens an untrusted file for reading: its views and triggers are not run, and no value may be
 * larger than 16 MiB. */
enum mp_status nvvp_db_open(struct nvvp_db *db, const char *path, struct mp_error *error);

/* All statements must be finalized before. A db that was never opened is allowed. */
void nvvp_db_close(struct nvvp_db *db);

/* The status and text for SQLite's last result. */
enum mp_status nvvp_db_failed(const struct nvvp_db *db, struct mp_error *error);

/* Runs statements that give no rows. */
enum mp_status nvvp_db_run(const struct nvvp_db *db, const char *sql, struct mp_error *error);

/* Compiles one statement; *statement is the caller's to finalize, NULL on failure. */
enum mp_status nvvp_db_prepare(const struct nvvp_db *db, const char *sql, sqlite3_stmt **statement,
                               struct mp_error *error);

/* The next row: MP_OK, MP_END, or a failure. */
enum mp_status nvvp_db_step(const struct nvvp_db *db, sqlite3_stmt *statement,
                            struct mp_error *error);

/* Runs a statement whose values are bound, then resets it for the next values. */
enum mp_status nvvp_db_put(const struct nvvp_db *db, sqlite3_stmt *statement,
                           struct mp_error *error);

/* Whether there is an ordinary table (no view, no virtual table) of that name; with `column`,
 * whether it has that column. */
bool nvvp_db_has_table(const struct nvvp_db *db, const char *table);
bool nvvp_db_has_column(const struct nvvp_db *db, const char *table, const char *column);

#endif
