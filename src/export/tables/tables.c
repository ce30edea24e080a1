/* What both back ends share: tables that come with their first row, and the first failure. */
#include "export/tables/tables.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "export/tables/build.h"

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
    enum mp_status status;

    MP_TRY(tables_begin(tables, index));
    complete(table, cells, whole);
    status = tables->back->put(tables->state, table, tables->handles[index], whole, &tables->error);
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
