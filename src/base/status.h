/* Filling in a struct mp_error. The types are public: include/miniprof/status.h. */
#ifndef MP_BASE_STATUS_H
#define MP_BASE_STATUS_H

#include <miniprof/status.h>

/* Writes `status` and the formatted text into `error` (which may be NULL) and returns `status`, so
 * that a failing function ends with
 *
 *     return mp_error_set(error, MP_ERR_IO, "cannot open '%s': %m", path);
 *
 * `%m` is the reason in errno; errno itself is left as it was. Never allocates. Any thread. */
enum mp_status mp_error_set(struct mp_error *error, enum mp_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same with "WHAT: the status's name", unless `status` is MP_OK. Returns `status`. */
enum mp_status mp_error_from(struct mp_error *error, enum mp_status status, const char *what);

/* A short name for a status ("memory", "damaged"), static, never NULL. */
const char *mp_status_name(enum mp_status status);

/* Returns from the calling function with the status of `expression` unless it is MP_OK. Use it only
 * where nothing has to be released. */
#define MP_TRY(expression)                                                                         \
    do {                                                                                           \
        enum mp_status mp_try_status = (expression);                                               \
        if (mp_try_status != MP_OK)                                                                \
            return mp_try_status;                                                                  \
    } while (0)

#endif
