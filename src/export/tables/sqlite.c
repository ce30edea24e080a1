/* Tables as an SQLite file: one transaction without a journal, a prepared statement for each table,
 * and no indices.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/data/buffer.h"
#include "export/common/db.h"
#include "export/tables/build.h"

#include "base/poison.h"

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
    enum mp_status status;

    for (unsigned i = 0; i < table->column_count; i++) {
        if (bind(handle, (int)i + 1, &cells[i]) != SQLITE_OK)
            return export_db_failed(db, error);
    }
    status = export_db_put(db, handle, error);
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
    ssize_t length;

    if (fstat(fileno(out), &found) != 0 || !S_ISREG(found.st_mode) || found.st_size)
        return mp_error_set(error, MP_ERR_ARGUMENT,
                            "no SQLite file can be written there; name a new file with -o");
    snprintf(link, sizeof link, "/proc/self/fd/%d", fileno(out));
    length = readlink(link, name, PATH_MAX - 1);
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
    char name[PATH_MAX];
    enum mp_status status;

    *tables = NULL;
    MP_TRY(name_of(out, path, name, error));
    db = calloc(1, sizeof *db);
    if (!db)
        return out_of_memory(error);
    status = export_db_create(db, path, name, error);
    if (status == MP_OK)
        return tables_new(&back, db, all, count, tables, error);
    close_file(db, false, NULL);
    return status;
}
