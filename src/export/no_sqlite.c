/* A build without SQLite has this file instead of those that need it: it answers
 * MP_ERR_UNSUPPORTED.
 */
#include "export/nvvp/nvvp.h"
#include "export/tables.h"

#include "base/poison.h"

static enum mp_status refuse(const char *path, struct mp_error *error)
{
    return mp_error_set(error, MP_ERR_UNSUPPORTED,
                        "'%.120s': this miniprof was built without SQLite; install "
                        "libsqlite3-dev and build again",
                        path);
}

const char *nvvp_library(void)
{
    return NULL;
}

enum mp_status nvvp_write(struct mp_trace *trace, const char *path, struct mp_error *error)
{
    (void)trace;
    return refuse(path, error);
}

enum mp_status nvvp_read(const char *path, int fd, struct mp_error *error)
{
    (void)fd;
    return refuse(path, error);
}

enum mp_status tables_open_sqlite(FILE *out, const char *path, const struct tables_table *all,
                                  unsigned count, struct tables **tables, struct mp_error *error)
{
    (void)out, (void)path, (void)all, (void)count;
    *tables = NULL;
    return mp_error_set(error, MP_ERR_UNSUPPORTED,
                        "this miniprof was built without SQLite; install libsqlite3-dev and build "
                        "again, or take --to nsys-parquet");
}
