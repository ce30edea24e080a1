/* The lines that the injected library writes to stderr. Each line is one write(2) from the stack:
 * lines of several threads do not mix, and nothing is lost when the process dies.
 */
#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text/foreign.h"

#include "base/poison.h"

#define PREFIX "miniprof: "

/* The process has one stderr, hence one logger; atomics, because any thread of the application may
 * log. */
static _Atomic enum mp_log_level threshold = MP_LOG_WARN;
static const struct mp_log_ops *_Atomic sink;

void mp_log_set_level(enum mp_log_level level)
{
    atomic_store_explicit(&threshold, level, memory_order_relaxed);
}

bool mp_log_enabled(enum mp_log_level level)
{
    enum mp_log_level min = atomic_load_explicit(&threshold, memory_order_relaxed);

    return min != MP_LOG_NONE && level >= min;
}

void mp_log_set_ops(const struct mp_log_ops *ops)
{
    atomic_store(&sink, ops);
}

/* One attempt only: waiting for a full pipe would stall the application. */
static void write_stderr(const char *line, size_t bytes)
{
    ssize_t written;

    do
        written = write(STDERR_FILENO, line, bytes);
    while (written < 0 && errno == EINTR);
}

void mp_log(enum mp_log_level level, const char *format, ...)
{
    int saved_errno = errno;
    const struct mp_log_ops *ops = atomic_load(&sink);
    char line[MP_LOG_LINE_BYTES] = PREFIX;
    size_t start = sizeof(PREFIX) - 1;
    size_t room = sizeof(line) - start - 1; /* the newline goes where the NUL was */
    va_list arguments;

    if (!mp_log_enabled(level))
        return;
    va_start(arguments, format);
    int length = vsnprintf(line + start, room, format, arguments);
    va_end(arguments);
    if (length < 0)
        return;
    size_t bytes = (size_t)length;
    if (bytes >= room) {
        bytes = room - 1;
        memcpy(line + start + bytes - 3, "...", 3);
    }
    bytes = foreign_hide(line + start, bytes);
    line[start + bytes] = '\n';
    if (ops)
        ops->write(ops->context, line, start + bytes + 1);
    else
        write_stderr(line, start + bytes + 1);
    errno = saved_errno;
}
