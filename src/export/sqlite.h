/* SQLite with this project's errors: one line that names the file, and a status. */
#ifndef MP_EXPORT_SQLITE_H
#define MP_EXPORT_SQLITE_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

struct export_db {
    sqlite3 *handle;
    const char *path; /* by which errors name the file; the caller's */
};

/* Opens the empty file `file` for writing without a journal, so after a failure the file is
 * useless. */
enum mp_status export_db_create(struct export_db *db, const char *path, const char *file,
                                struct mp_error *error);

/* Opens an untrusted file for reading: its views and triggers are not run, and no value may be
 * larger than 16 MiB. */
enum mp_status export_db_open(struct export_db *db, const char *path, struct mp_error *error);

/* All statements must be finalized before. A db that was never opened is allowed. */
void export_db_close(struct export_db *db);

/* Runs statements that give no rows. */
enum mp_status export_db_run(const struct export_db *db, const char *sql, struct mp_error *error);

/* Compiles one statement; *statement is the caller's to finalize, NULL on failure. */
enum mp_status export_db_prepare(const struct export_db *db, const char *sql,
                                 sqlite3_stmt **statement, struct mp_error *error);

/* The next row: MP_OK, MP_END, or a failure. */
enum mp_status export_db_step(const struct export_db *db, sqlite3_stmt *statement,
                              struct mp_error *error);

/* Runs a statement whose values are bound, then resets it for the next values. */
enum mp_status export_db_put(const struct export_db *db, sqlite3_stmt *statement,
                             struct mp_error *error);

/* Whether there is an ordinary table (no view, no virtual table) of that name; with `column`,
 * whether it has that column. */
bool export_db_has_table(const struct export_db *db, const char *table);
bool export_db_has_column(const struct export_db *db, const char *table, const char *column);

#endif
