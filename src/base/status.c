/* Fills in a struct mp_error and names the status codes. The recorder and the reader report errors
 * by it. Messages quote names, so what acts is hidden here (text/foreign.h).
 */
#include "base/status.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text/foreign.h"

#include "base/poison.h"

enum mp_status mp_error_set(struct mp_error *error, enum mp_status status, const char *format, ...)
{
    int saved_errno = errno;
    va_list arguments;

    if (!error)
        return status;

    error->status = status;
    va_start(arguments, format);
    int length = vsnprintf(error->text, sizeof(error->text), format, arguments);
    va_end(arguments);
    if (length < 0)
        error->text[0] = '\0';
    else if ((size_t)length >= sizeof(error->text))
        memcpy(error->text + sizeof(error->text) - 4, "...", 4);
    error->text[foreign_hide(error->text, strlen(error->text))] = '\0';
    errno = saved_errno;
    return status;
}

const char *mp_status_name(enum mp_status status)
{
    switch (status) {
    case MP_OK:
        return "ok";
    case MP_END:
        return "end";
    case MP_ERR_ARGUMENT:
        return "argument";
    case MP_ERR_MEMORY:
        return "memory";
    case MP_ERR_IO:
        return "io";
    case MP_ERR_FORMAT:
        return "format";
    case MP_ERR_VERSION:
        return "version";
    case MP_ERR_DAMAGED:
        return "damaged";
    case MP_ERR_LIMIT:
        return "limit";
    case MP_ERR_UNSUPPORTED:
        return "unsupported";
    }
    return "unknown";
}

enum mp_status mp_error_from(struct mp_error *error, enum mp_status status, const char *what)
{
    return status ? mp_error_set(error, status, "%s: %s", what, mp_status_name(status)) : MP_OK;
}
