/* Inside of the tables: what a back end is. */
#ifndef MP_EXPORT_TABLES_BUILD_H
#define MP_EXPORT_TABLES_BUILD_H

#include <stdbool.h>

#include "export/tables/tables.h"

struct tables_back {
    /* Makes a table; *handle is what the others are given. */
    enum mp_status (*begin)(void *state, const struct tables_table *table, void **handle,
                            struct mp_error *error);
    enum mp_status (*put)(void *state, const struct tables_table *table, void *handle,
                          const struct tables_cell *cells, struct mp_error *error);
    /* Frees the handle in any case; `whole` completes the table. */
    enum mp_status (*end)(void *state, void *handle, bool whole, struct mp_error *error);
    /* Frees `state`. */
    enum mp_status (*close)(void *state, bool whole, struct mp_error *error);
};

/* Takes over `state`, which is closed if it fails. */
enum mp_status tables_new(const struct tables_back *back, void *state,
                          const struct tables_table *all, unsigned count, struct tables **tables,
                          struct mp_error *error);

#endif
