/* A build without SQLite has this file in place of sqlite.c: it answers MP_ERR_UNSUPPORTED. */
#include "export/tables/tables.h"

#include "base/poison.h"

enum mp_status tables_open_sqlite(FILE *out, const char *path, const struct tables_table *all,
                                  unsigned count, struct tables **tables, struct mp_error *error)
{
    (void)out, (void)path, (void)all, (void)count;
    *tables = NULL;
    return mp_error_set(error, MP_ERR_UNSUPPORTED,
                        "this miniprof was built without SQLite; install libsqlite3-dev and build "
                        "again, or take --to nsys-parquet");
}
