/* A stream whose bytes arrive compressed in another one (RFC 1952), by zlib.
 *
 * gzip.c is built where zlib is installed, gzip_none.c elsewhere.
 */
#ifndef MP_EXPORT_GZIP_H
#define MP_EXPORT_GZIP_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"

/* `.json.gz` with zlib, else `.json`: what a format appends to a name that it chooses. */
extern const char gzip_json_suffix[];

/* zlib's version; NULL: built without it. */
const char *gzip_library(void);

/* Whether a path asks for compression: it ends in `.gz`. NULL is allowed. */
static inline bool gzip_is_asked(const char *path)
{
    size_t bytes = path ? strlen(path) : 0;

    return bytes > 3 && !strcmp(path + bytes - 3, ".gz");
}

/* A stream into `out`. The caller closes it by fclose, which writes the end of the file and says
 * whether all could be written; `out` stays open, and its errors are its own. MP_ERR_MEMORY;
 * MP_ERR_ARGUMENT: built without zlib. */
enum mp_status gzip_open(FILE *out, FILE **stream, struct mp_error *error);

#endif
