/* Without zlib nothing is compressed, and asking for it is an error. */
#include "export/gzip.h"

#include "base/poison.h"

const char gzip_json_suffix[] = ".json";

const char *gzip_library(void)
{
    return NULL;
}

enum mp_status gzip_open(FILE *out, FILE **stream, struct mp_error *error)
{
    (void)out;
    *stream = NULL;
    return mp_error_set(error, MP_ERR_ARGUMENT,
                        "miniprof was built without zlib: name a file that does not end in .gz");
}
