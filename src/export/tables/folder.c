/* Tables as Parquet files of a folder: TABLE.parquet. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/buffer.h"
#include "base/io.h"
#include "export/parquet/parquet.h"
#include "export/tables/build.h"

#include "base/poison.h"

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

static enum mp_status begin(void *state, const struct tables_table *table, void **handle,
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

static enum mp_status put(void *state, const struct tables_table *table, void *handle,
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

static enum mp_status end(void *state, void *handle, bool whole, struct mp_error *error)
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
    static const struct tables_back back = {begin, put, end, close_folder};
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
