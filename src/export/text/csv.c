/* CSV: a file for each kind of row in a folder, or one file of one kind. Titles are the keys of
 * common/cells.h; text is quoted, and a cell without a value is empty. Every kind has its file, so
 * that a new export replaces all of an older one.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/data/buffer.h"
#include "base/io.h"
#include "base/status.h"
#include "base/text/foreign.h"
#include "export/common/cells.h"
#include "export/text/text.h"

#include "base/poison.h"

struct csv {
    FILE *files[EXPORT_KINDS]; /* of the folder */
    FILE *out;                 /* the one file; NULL: a folder */
    const struct export_process *process;
    struct export_cells cells;
};

static void put_titles(struct csv *csv, FILE *out, enum export_kind kind)
{
    export_cells_of(&csv->cells, kind);
    for (size_t i = 0; i < csv->cells.count; i++)
        fprintf(out, "%s\"%s\"", i ? "," : "", csv->cells.items[i].key);
    fputc('\n', out);
}

/* ---- Files ---- */

static enum mp_status open_file(struct csv *csv, const char *folder, enum export_kind kind,
                                struct mp_error *error)
{
    struct mp_buffer path = {.data = NULL};
    enum mp_status status = MP_OK;

    mp_buffer_append_format(&path, "%s/%s.csv", folder, export_kind_key(kind));
    if (mp_buffer_append_byte(&path, '\0') != MP_OK) {
        status = mp_error_set(error, MP_ERR_MEMORY, "out of memory");
    } else {
        csv->files[kind] = mp_output_stream((const char *)path.data, O_EXCL);
        if (!csv->files[kind])
            status =
                mp_error_set(error, MP_ERR_IO, "cannot write '%s.csv': %m", export_kind_key(kind));
    }
    mp_buffer_free(&path);
    return status;
}

static enum mp_status begin(void *state, FILE *out, const char *path, size_t processes,
                            struct mp_error *error)
{
    struct csv *csv = state;

    (void)processes;
    csv->out = out;
    for (unsigned i = 0; i < EXPORT_KINDS && !out; i++) {
        MP_TRY(open_file(csv, path, (enum export_kind)i, error));
        put_titles(csv, csv->files[i], (enum export_kind)i);
    }
    return MP_OK;
}

/* The one file gets its titles when it is known of which kind it is. */
static enum mp_status process(void *state, const struct export_process *process,
                              struct mp_error *error)
{
    struct csv *csv = state;
    unsigned kinds = export_rows_options(process->rows)->kinds;

    (void)error;
    csv->process = process;
    if (csv->out && !process->number)
        put_titles(csv, csv->out, kinds ? (enum export_kind)__builtin_ctz(kinds) : EXPORT_KERNEL);
    return MP_OK;
}

static enum mp_status process_end(void *state, struct mp_error *error)
{
    struct csv *csv = state;

    (void)error;
    csv->process = NULL;
    return MP_OK;
}

static enum mp_status end(void *state, struct mp_error *error)
{
    struct csv *csv = state;

    for (size_t i = 0; i < EXPORT_KINDS && !csv->out; i++) {
        FILE *file = csv->files[i];
        int failed = ferror(file);

        csv->files[i] = NULL;
        if (fclose(file) != 0 || failed)
            return mp_error_set(error, MP_ERR_IO, "cannot write '%s.csv': %m",
                                export_kind_key((enum export_kind)i));
    }
    return MP_OK;
}

static void release(void *state)
{
    struct csv *csv = state;

    for (size_t i = 0; i < EXPORT_KINDS; i++) {
        if (csv->files[i])
            fclose(csv->files[i]);
    }
}

/* ---- Rows ---- */

static void put_cell(FILE *out, const struct export_cell *cell)
{
    switch (cell->type) {
    case EXPORT_CELL_NONE:
        break;
    case EXPORT_CELL_NUMBER:
    case EXPORT_CELL_BOOL:
        fprintf(out, "%" PRIu64, cell->number);
        break;
    case EXPORT_CELL_REAL:
        fprintf(out, "%.17g", cell->real);
        break;
    case EXPORT_CELL_TEXT:
        foreign_put_csv(out, cell->text, cell->bytes);
        break;
    }
}

static enum mp_status row(void *state, const struct export_row *row)
{
    struct csv *csv = state;
    FILE *out = csv->out ? csv->out : csv->files[row->kind];

    MP_TRY(export_cells_fill(&csv->cells, csv->process, row));
    for (size_t i = 0; i < csv->cells.count; i++) {
        if (i)
            fputc(',', out);
        put_cell(out, &csv->cells.items[i]);
    }
    fputc('\n', out);
    return ferror(out) ? MP_ERR_IO : MP_OK;
}

const struct export_format export_csv = {
    .key = "csv",
    .suffix = "-csv",
    .help = "a folder with a CSV file for each kind of row; --table: one file",
    .state_bytes = sizeof(struct csv),
    .folder = true,
    .begin = begin,
    .process = process,
    .row = row,
    .process_end = process_end,
    .end = end,
    .release = release,
};
