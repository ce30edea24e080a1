/* The few calls of SQLite that formats need, and tables as an SQLite file.
 *
 * SQLite's message is turned into this project's struct mp_error here, with the name of the file,
 * so that no other file knows SQLite's codes.
 */
#include "export/sqlite.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/data/storage.h"
#include "export/tables.h"

#include "base/poison.h"

#define MAX_VALUE_BYTES (16 << 20)
#define PATH_BYTES      4352 /* PATH_MAX and what is put around it */

#define MESSAGE_BYTES 81

/* SQLite's message, without text that a damaged file may have put into it. */
static const char *message(const struct export_db *db, char *buffer)
{
    const char *text = sqlite3_errmsg(db->handle);
    size_t at = 0;

    for (; text[at] && at < MESSAGE_BYTES - 1; at++)
        buffer[at] = text[at] < ' ' || text[at] > '~' ? '?' : text[at];
    buffer[at] = '\0';
    return buffer;
}

static enum mp_status system_failure(const struct export_db *db, int code, struct mp_error *error)
{
    char buffer[MESSAGE_BYTES];

    errno = sqlite3_system_errno(db->handle);
    if (code == SQLITE_FULL)
        errno = ENOSPC;
    if (errno)
        return mp_error_set(error, MP_ERR_IO, "cannot %s '%.150s': %m",
                            code == SQLITE_CANTOPEN ? "open" : "read or write", db->path);
    return mp_error_set(error, MP_ERR_IO, "cannot use '%.150s': SQLite says: %s", db->path,
                        message(db, buffer));
}

/* The status and text for SQLite's last result. */
static enum mp_status failed(const struct export_db *db, struct mp_error *error)
{
    int code = sqlite3_errcode(db->handle) & 0xff;
    char buffer[MESSAGE_BYTES];

    switch (code) {
    case SQLITE_NOMEM:
        return mp_error_set(error, MP_ERR_MEMORY, "no memory for '%.150s'", db->path);
    case SQLITE_NOTADB:
        return mp_error_set(error, MP_ERR_FORMAT, "'%.150s' is no SQLite file", db->path);
    case SQLITE_FULL:
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return system_failure(db, code, error);
    default:
        return mp_error_set(error, MP_ERR_DAMAGED, "'%.120s' is damaged: SQLite says: %s", db->path,
                            message(db, buffer));
    }
}

/* SQLite gives a special meaning to names such as `:memory:`, but not to names with a slash. */
static enum mp_status open_handle(struct export_db *db, const char *file, int flags,
                                  struct mp_error *error)
{
    char name[PATH_BYTES];
    int length = snprintf(name, sizeof name, "%s%s", *file == '/' ? "" : "./", file);

    if (length < 0 || (size_t)length >= sizeof name)
        return mp_error_set(error, MP_ERR_IO, "cannot open '%.150s': its name is too long", file);
    if (sqlite3_open_v2(name, &db->handle, flags | SQLITE_OPEN_NOMUTEX, NULL) == SQLITE_OK)
        return MP_OK;
    if (!db->handle)
        return mp_error_set(error, MP_ERR_MEMORY, "no memory for '%.150s'", db->path);
    failed(db, error);
    export_db_close(db);
    return MP_ERR_IO;
}

enum mp_status export_db_create(struct export_db *db, const char *path, const char *file,
                                struct mp_error *error)
{
    *db = (struct export_db){.path = path};
    MP_TRY(open_handle(db, file, SQLITE_OPEN_READWRITE, error));
    return export_db_run(db,
                         "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
                         "PRAGMA locking_mode = EXCLUSIVE; PRAGMA encoding = 'UTF-8'; BEGIN",
                         error);
}

enum mp_status export_db_open(struct export_db *db, const char *path, struct mp_error *error)
{
    *db = (struct export_db){.path = path};
    MP_TRY(open_handle(db, path, SQLITE_OPEN_READONLY, error));
    sqlite3_limit(db->handle, SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES);
    sqlite3_db_config(db->handle, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(db->handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(db->handle, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    sqlite3_db_config(db->handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    /* One transaction: another program must not change the file between two of our statements. */
    return export_db_run(db, "PRAGMA cell_size_check = ON; BEGIN; SELECT 1 FROM sqlite_master",
                         error);
}

void export_db_close(struct export_db *db)
{
    sqlite3_close(db->handle);
    db->handle = NULL;
}

enum mp_status export_db_run(const struct export_db *db, const char *sql, struct mp_error *error)
{
    if (sqlite3_exec(db->handle, sql, NULL, NULL, NULL) != SQLITE_OK)
        return failed(db, error);
    return MP_OK;
}

enum mp_status export_db_prepare(const struct export_db *db, const char *sql,
                                 sqlite3_stmt **statement, struct mp_error *error)
{
    if (sqlite3_prepare_v2(db->handle, sql, -1, statement, NULL) != SQLITE_OK)
        return failed(db, error);
    return MP_OK;
}

enum mp_status export_db_step(const struct export_db *db, sqlite3_stmt *statement,
                              struct mp_error *error)
{
    switch (sqlite3_step(statement)) {
    case SQLITE_ROW:
        return MP_OK;
    case SQLITE_DONE:
        return MP_END;
    default:
        return failed(db, error);
    }
}

enum mp_status export_db_put(const struct export_db *db, sqlite3_stmt *statement,
                             struct mp_error *error)
{
    if (sqlite3_step(statement) != SQLITE_DONE)
        return failed(db, error);
    sqlite3_reset(statement);
    return MP_OK;
}

bool export_db_has_table(const struct export_db *db, const char *table)
{
    static const char sql[] = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND rootpage > 0 "
                              "AND name = ?1";
    sqlite3_stmt *statement;

    if (export_db_prepare(db, sql, &statement, NULL) != MP_OK)
        return false;
    sqlite3_bind_text(statement, 1, table, -1, SQLITE_STATIC);
    bool found = sqlite3_step(statement) == SQLITE_ROW;
    sqlite3_finalize(statement);
    return found;
}

bool export_db_has_column(const struct export_db *db, const char *table, const char *column)
{
    return sqlite3_table_column_metadata(db->handle, "main", table, column, NULL, NULL, NULL, NULL,
                                         NULL) == SQLITE_OK;
}

/* ---- Tables ---- */

/* One transaction without a journal, a prepared statement for each table, and no indices. */

static enum mp_status out_of_memory(struct mp_error *error)
{
    return mp_error_set(error, MP_ERR_MEMORY, "out of memory");
}

static void append_columns(struct mp_buffer *sql, const struct tables_table *table)
{
    static const char *const types[] = {[TABLES_INT] = "INTEGER",
                                        [TABLES_INT32] = "INTEGER",
                                        [TABLES_BOOL] = "INTEGER",
                                        [TABLES_REAL] = "REAL",
                                        [TABLES_TEXT] = "TEXT"};

    for (unsigned i = 0; i < table->column_count; i++) {
        const struct tables_column *column = &table->columns[i];

        mp_buffer_append_format(sql, "%s\"%s\" %s%s%s", i ? ", " : "", column->name,
                                types[column->type],
                                column->flags & TABLES_REQUIRED ? " NOT NULL" : "",
                                column->flags & TABLES_KEY ? " PRIMARY KEY" : "");
    }
}

static enum mp_status create(struct export_db *db, const struct tables_table *table,
                             struct mp_buffer *sql, struct mp_error *error)
{
    mp_buffer_append_format(sql, "CREATE TABLE \"%s\"(", table->name);
    append_columns(sql, table);
    mp_buffer_append_text(sql, ")");
    if (mp_buffer_append_byte(sql, '\0') != MP_OK)
        return out_of_memory(error);
    return export_db_run(db, (const char *)sql->data, error);
}

static enum mp_status begin(void *state, const struct tables_table *table, void **handle,
                            struct mp_error *error)
{
    struct mp_buffer sql = {.data = NULL};
    sqlite3_stmt *statement = NULL;
    enum mp_status status = create(state, table, &sql, error);

    if (status == MP_OK) {
        mp_buffer_clear(&sql);
        mp_buffer_append_format(&sql, "INSERT INTO \"%s\" VALUES(?", table->name);
        for (unsigned i = 1; i < table->column_count; i++)
            mp_buffer_append_text(&sql, ", ?");
        mp_buffer_append_text(&sql, ")");
        status = mp_buffer_append_byte(&sql, '\0') == MP_OK
                     ? export_db_prepare(state, (const char *)sql.data, &statement, error)
                     : out_of_memory(error);
    }
    mp_buffer_free(&sql);
    *handle = statement;
    return status;
}

static int bind(sqlite3_stmt *statement, int at, const struct tables_cell *cell)
{
    switch ((enum tables_cell_kind)cell->kind) {
    case TABLES_CELL_NUMBER:
        return sqlite3_bind_int64(statement, at, cell->number);
    case TABLES_CELL_REAL:
        return sqlite3_bind_double(statement, at, cell->real);
    case TABLES_CELL_TEXT:
        return sqlite3_bind_text(statement, at, cell->text, (int)cell->bytes, SQLITE_STATIC);
    case TABLES_CELL_NONE:
        break;
    }
    return sqlite3_bind_null(statement, at);
}

static enum mp_status put(void *state, const struct tables_table *table, void *handle,
                          const struct tables_cell *cells, struct mp_error *error)
{
    struct export_db *db = state;

    for (unsigned i = 0; i < table->column_count; i++) {
        if (bind(handle, (int)i + 1, &cells[i]) != SQLITE_OK)
            return failed(db, error);
    }
    enum mp_status status = export_db_put(db, handle, error);
    if (status == MP_ERR_IO)
        errno =
            sqlite3_errcode(db->handle) == SQLITE_FULL ? ENOSPC : sqlite3_system_errno(db->handle);
    return status;
}

static enum mp_status end(void *state, void *handle, bool whole, struct mp_error *error)
{
    (void)state, (void)whole, (void)error;
    sqlite3_finalize(handle);
    return MP_OK;
}

static enum mp_status close_file(void *state, bool whole, struct mp_error *error)
{
    struct export_db *db = state;
    enum mp_status status = whole ? export_db_run(db, "COMMIT", error) : MP_OK;

    export_db_close(db);
    free(db);
    return status;
}

/* SQLite opens files by name: the one by which `out` was opened. */
static enum mp_status name_of(FILE *out, const char *path, char name[PATH_MAX],
                              struct mp_error *error)
{
    char link[32];
    struct stat found;

    if (fstat(fileno(out), &found) != 0 || !S_ISREG(found.st_mode) || found.st_size)
        return mp_error_set(error, MP_ERR_ARGUMENT,
                            "no SQLite file can be written there; name a new file with -o");
    snprintf(link, sizeof link, "/proc/self/fd/%d", fileno(out));
    ssize_t length = readlink(link, name, PATH_MAX - 1);
    if (length < 0)
        return mp_error_set(error, MP_ERR_IO, "cannot find '%.150s': %m", path);
    name[length] = '\0';
    return MP_OK;
}

enum mp_status tables_open_sqlite(FILE *out, const char *path, const struct tables_table *all,
                                  unsigned count, struct tables **tables, struct mp_error *error)
{
    static const struct tables_back back = {begin, put, end, close_file};
    struct export_db *db;
    char name[PATH_MAX] = "";

    *tables = NULL;
    MP_TRY(name_of(out, path, name, error));
    db = calloc(1, sizeof *db);
    if (!db)
        return out_of_memory(error);
    enum mp_status status = export_db_create(db, path, name, error);
    if (status == MP_OK)
        return tables_new(&back, db, all, count, tables, error);
    close_file(db, false, NULL);
    return status;
}
