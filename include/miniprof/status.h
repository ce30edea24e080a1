/* What a function of miniprof's libraries returns, and the cause of a failure in words.
 *
 * Functions that can fail return an `enum mp_status`. MP_OK is 0, so `if (status)` reads as "if it
 * failed". Functions that take a `struct mp_error *` also say why: one line without a newline that
 * names the object and the cause. The pointer may be NULL if the caller does not want the text. No
 * function prints or ends the process.
 */
#ifndef MINIPROF_STATUS_H
#define MINIPROF_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

/* Marks what libmptrace.so exports; everything else is compiled with hidden visibility. */
#define MP_PUBLIC __attribute__((visibility("default")))

/* Values are append-only: they may end up in a caller's log or exit code. */
enum mp_status {
    MP_OK = 0,
    MP_END,            /* no more items; not an error */
    MP_ERR_ARGUMENT,   /* the caller passed a value that the function does not take */
    MP_ERR_MEMORY,     /* an allocation failed */
    MP_ERR_IO,         /* the operating system refused; the text ends with its reason */
    MP_ERR_FORMAT,     /* not a trace file at all */
    MP_ERR_VERSION,    /* a trace file of a newer format than this build knows */
    MP_ERR_DAMAGED,    /* a trace file whose bytes contradict its checksums or its own rules */
    MP_ERR_LIMIT,      /* larger than a documented limit */
    MP_ERR_UNSUPPORTED /* a valid request that this build or machine cannot serve */
};

#define MP_ERROR_TEXT_BYTES 256

/* Filled only when a function fails; owned by the caller, holds no pointers. */
struct mp_error {
    enum mp_status status;
    char text[MP_ERROR_TEXT_BYTES]; /* NUL-terminated; cut, with "..." at the end, when too long */
};

#ifdef __cplusplus
}
#endif

#endif
