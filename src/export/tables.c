/* What both kinds of output share: tables that come with their first row, and the first failure.
 * Below it, tables as Parquet files of a folder: TABLE.parquet.
 */
#include "export/tables.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/storage.h"
#include "base/io.h"
#include "export/parquet/parquet.h"

#include "base/poison.h"

struct tables {
    const struct tables_back *back;
    void *state;
    const struct tables_table *all;
    unsigned count;
    void **handles; /* NULL: no rows yet */
    struct mp_error error;
    int system; /* errno of the failure */
};

enum mp_status tables_new(const struct tables_back *back, void *state,
                          const struct tables_table *all, unsigned count, struct tables **result,
                          struct mp_error *error)
{
    struct tables *tables = calloc(1, sizeof *tables);

    if (tables)
        tables->handles = calloc(count, sizeof *tables->handles);
    if (!tables || !tables->handles) {
        free(tables);
        back->close(state, false, NULL);
        return mp_error_set(error, MP_ERR_MEMORY, "out of memory");
    }
    tables->back = back;
    tables->state = state;
    tables->all = all;
    tables->count = count;
    *result = tables;
    return MP_OK;
}

/* Required cells that are not given are 0 or an empty text. */
static void complete(const struct tables_table *table, const struct tables_cell *cells,
                     struct tables_cell *whole)
{
    memcpy(whole, cells, table->column_count * sizeof *cells);
    for (unsigned i = 0; i < table->column_count; i++) {
        if (whole[i].kind != TABLES_CELL_NONE || !(table->columns[i].flags & TABLES_REQUIRED))
            continue;
        whole[i] = table->columns[i].type == TABLES_TEXT ? TABLES_WORDS("", 0) : TABLES_NUMBER(0);
        if (table->columns[i].type == TABLES_REAL)
            whole[i] = (struct tables_cell){.real = 0, .kind = TABLES_CELL_REAL};
    }
}

static enum mp_status fail(struct tables *tables, enum mp_status status)
{
    if (!tables->error.status)
        mp_error_set(&tables->error, status, "cannot write: %s", mp_status_name(status));
    tables->system = errno;
    return status;
}

enum mp_status tables_begin(struct tables *tables, unsigned index)
{
    enum mp_status status = MP_OK;

    if (tables->error.status) {
        errno = tables->system;
        return tables->error.status;
    }
    if (!tables->handles[index])
        status = tables->back->begin(tables->state, &tables->all[index], &tables->handles[index],
                                     &tables->error);
    return status == MP_OK ? MP_OK : fail(tables, status);
}

enum mp_status tables_put(struct tables *tables, unsigned index, const struct tables_cell *cells)
{
    const struct tables_table *table = &tables->all[index];
    struct tables_cell whole[TABLES_MAX_COLUMNS];

    MP_TRY(tables_begin(tables, index));
    complete(table, cells, whole);
    enum mp_status status =
        tables->back->put(tables->state, table, tables->handles[index], whole, &tables->error);
    return status == MP_OK ? MP_OK : fail(tables, status);
}

static enum mp_status finish(struct tables *tables, bool whole)
{
    for (unsigned i = 0; i < tables->count; i++) {
        bool complete = whole && !tables->error.status;

        if (tables->handles[i])
            tables->back->end(tables->state, tables->handles[i], complete,
                              complete ? &tables->error : NULL);
    }
    whole = whole && !tables->error.status;
    return tables->back->close(tables->state, whole, whole ? &tables->error : NULL);
}

enum mp_status tables_close(struct tables *tables, struct mp_error *error)
{
    enum mp_status status = finish(tables, true);

    if (tables->error.status)
        status = mp_error_set(error, tables->error.status, "%s", tables->error.text);
    free(tables->handles);
    free(tables);
    return status;
}

void tables_abandon(struct tables *tables)
{
    if (!tables)
        return;
    finish(tables, false);
    free(tables->handles);
    free(tables);
}

/* ---- A folder ---- */

struct folder {
    char *path;
};

struct file {
    FILE *out;
    struct parquet_writer *writer;
    struct parquet_table table;
    struct parquet_column columns[TABLES_MAX_COLUMNS];
};

static enum parquet_type type_of(const struct tables_column *column)
{
    static const enum parquet_type types[] = {
        [TABLES_INT] = PARQUET_INT64,   [TABLES_INT32] = PARQUET_INT32,
        [TABLES_BOOL] = PARQUET_BOOL,   [TABLES_REAL] = PARQUET_DOUBLE,
        [TABLES_TEXT] = PARQUET_STRING,
    };

    return types[column->type];
}

static FILE *open_file(const struct folder *folder, const char *table)
{
    struct mp_buffer path = {.data = NULL};
    FILE *out = NULL;

    mp_buffer_append_format(&path, "%s/%s.parquet", folder->path, table);
    errno = ENOMEM;
    if (mp_buffer_append_byte(&path, '\0') == MP_OK)
        out = mp_output_stream((const char *)path.data, O_EXCL);
    mp_buffer_free(&path);
    return out;
}

static enum mp_status folder_begin(void *state, const struct tables_table *table, void **handle,
                                   struct mp_error *error)
{
    struct file *file = calloc(1, sizeof *file);

    if (!file)
        return mp_error_set(error, MP_ERR_MEMORY, "out of memory");
    *handle = file;
    file->table = (struct parquet_table){table->name, file->columns, table->column_count};
    for (unsigned i = 0; i < table->column_count; i++)
        file->columns[i] = (struct parquet_column){
            table->columns[i].name, type_of(&table->columns[i]),
            table->columns[i].flags & TABLES_REQUIRED ? 0 : PARQUET_OPTIONAL};
    file->out = open_file(state, table->name);
    if (!file->out)
        return mp_error_set(error, errno == ENOMEM ? MP_ERR_MEMORY : MP_ERR_IO,
                            "cannot write '%s.parquet': %m", table->name);
    return parquet_begin(file->out, &file->table, NULL, &file->writer, error);
}

static enum mp_status folder_put(void *state, const struct tables_table *table, void *handle,
                                 const struct tables_cell *cells, struct mp_error *error)
{
    struct parquet_writer *writer = ((struct file *)handle)->writer;

    (void)state, (void)error;
    for (unsigned i = 0; i < table->column_count; i++) {
        if (cells[i].kind == TABLES_CELL_NUMBER)
            parquet_put_int(writer, i, cells[i].number);
        else if (cells[i].kind == TABLES_CELL_REAL)
            parquet_put_double(writer, i, cells[i].real);
        else if (cells[i].kind == TABLES_CELL_TEXT)
            parquet_put_text(writer, i, cells[i].text, cells[i].bytes);
    }
    return parquet_end_row(writer);
}

static enum mp_status folder_end(void *state, void *handle, bool whole, struct mp_error *error)
{
    struct file *file = handle;
    enum mp_status status = MP_OK;

    (void)state;
    if (whole)
        status = parquet_end(file->writer, error);
    else
        parquet_abandon(file->writer);
    if (file->out && fclose(file->out) != 0 && status == MP_OK && whole)
        status = mp_error_set(error, MP_ERR_IO, "cannot write '%s.parquet': %m", file->table.name);
    free(file);
    return status;
}

static enum mp_status close_folder(void *state, bool whole, struct mp_error *error)
{
    struct folder *folder = state;

    (void)whole, (void)error;
    free(folder->path);
    free(folder);
    return MP_OK;
}

enum mp_status tables_open_folder(const char *path, const struct tables_table *all, unsigned count,
                                  struct tables **tables, struct mp_error *error)
{
    static const struct tables_back back = {folder_begin, folder_put, folder_end, close_folder};
    struct folder *folder = calloc(1, sizeof *folder);

    *tables = NULL;
    if (folder)
        folder->path = strdup(path);
    if (!folder || !folder->path) {
        free(folder);
        return mp_error_set(error, MP_ERR_MEMORY, "out of memory");
    }
    return tables_new(&back, folder, all, count, tables, error);
}
