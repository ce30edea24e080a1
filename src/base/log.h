/* The lines that the injected library prints: "miniprof: ..." on stderr.
 *
 * Each line is formatted on the stack and written with one write(2). So lines of several threads
 * and of the application never mix, and nothing is left in a buffer when the process dies. The
 * application's stdio is not used. Any thread; safe after fork; errno is preserved. The reader and
 * the command do not use this log: they return their causes in a struct mp_error.
 *
 * A level says how often its messages come. error: once, recording has stopped or will stop. warn:
 * once for each cause, data is missing. info: a few lines a process. debug: for each buffer or
 * chunk, never for each record.
 */
#ifndef MP_BASE_LOG_H
#define MP_BASE_LOG_H

#include <stdbool.h>
#include <stddef.h>

enum mp_log_level {
    MP_LOG_DEBUG = 0,
    MP_LOG_INFO,
    MP_LOG_WARN,
    MP_LOG_ERROR,
    MP_LOG_CLOSING, /* the one line at the end: file, size, records, dropped */
    MP_LOG_NONE     /* a threshold only: nothing is said */
};

#define MP_LOG_LINE_BYTES                                                                          \
    1024 /* of a line, prefix and newline included; longer ones are cut with "..." */

/* The lowest level that is said; MP_LOG_WARN until set. */
void mp_log_set_level(enum mp_log_level level);

/* Whether a message of this level would be said; spares the work of composing it. */
bool mp_log_enabled(enum mp_log_level level);

/* Where lines go, newline included. `write` must not log. */
struct mp_log_ops {
    void (*write)(void *context, const char *line, size_t bytes);
    void *context;
};

/* Sends lines to `ops`, which must outlive its use; NULL sends them to stderr again. For tests, to
 * be called before threads start. */
void mp_log_set_ops(const struct mp_log_ops *ops);

/* Says one line; `format` without prefix and newline. Characters that act (text/foreign.h) become
 * '?'. */
void mp_log(enum mp_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define mp_log_debug(...)   mp_log_if(MP_LOG_DEBUG, __VA_ARGS__)
#define mp_log_info(...)    mp_log_if(MP_LOG_INFO, __VA_ARGS__)
#define mp_log_warn(...)    mp_log_if(MP_LOG_WARN, __VA_ARGS__)
#define mp_log_error(...)   mp_log_if(MP_LOG_ERROR, __VA_ARGS__)
#define mp_log_closing(...) mp_log_if(MP_LOG_CLOSING, __VA_ARGS__)

/* Evaluates its arguments only when the line is said. */
#define mp_log_if(level, ...)                                                                      \
    do {                                                                                           \
        if (mp_log_enabled(level))                                                                 \
            mp_log(level, __VA_ARGS__);                                                            \
    } while (0)

#endif
