/* A format of `miniprof export`: its file in src/export, and a line of
 * EXPORT_FORMATS.
 *
 *     set        first, for each of the format's own options that was given
 *     begin      once: what stands before everything
 *     process    for each trace: who it was, its devices; then
 *     row        for each row of it, and
 *     process_end
 *     end        once: what stands after everything
 *
 * A format writes to `out` only; `path` is for messages then. Failures of writing are seen by the
 * caller (ferror, fclose).
 * `process`, `process_end`, `end` and `release` may be NULL.
 */
#ifndef MP_EXPORT_FORMAT_H
#define MP_EXPORT_FORMAT_H

#include <stdio.h>

#include "export/rows/rows.h"
#include "reports/ranks/ranks.h"

/* A process whose rows come. */
struct export_process {
    struct mp_trace *trace;
    struct export_rows *rows;
    const struct export_options *options;
    const struct trace_set *set;     /* all that the command was given */
    const struct trace_process *who; /* of the set: pid, rank, host, devices; clock: who->offset
                                        added to a time of the recorder's clock is ns since 1970 */
    size_t number;                   /* from 0 */
    const struct ranks *ranks;       /* NCCL's operations of its job, matched; NULL: they are not */
    uint32_t ranks_process;          /* its number there */
    size_t count;                    /* of processes in this export */
};

/* An option of one format alone: `--NAME VALUE`. */
struct export_option {
    const char *name;     /* unlike those of `miniprof export` and of other formats */
    const char *argument; /* what --help calls it */
    const char *help;     /* a phrase that begins with the format's key */
};

struct export_format {
    const char *key;    /* `perfetto`: --to KEY */
    const char *suffix; /* `.pftrace` */
    const char *help;   /* for --help: one line */
    size_t state_bytes; /* zeroed before begin */
    bool analyses;      /* wants export_options.analyses, unless the user turns them off */
    bool one_process;   /* several traces become several files, OUT a folder */
    bool matched;       /* wants export_process.ranks, if there are several processes */
    bool folder;        /* OUT is a folder even of one trace; `begin` gets no FILE */
    const char *lazy;   /* `.parquet`: files of a folder that may be missing, so that -f removes
                           those of an older export; else NULL */
    const struct export_option *options; /* its own, up to one without a name; NULL: none */
    /* An own option that was given, before `begin`. MP_ERR_ARGUMENT: there is no such value; the
     * message says what there is. */
    enum mp_status (*set)(void *state, const char *name, const char *value, struct mp_error *error);
    /* `path` is OUT. */
    enum mp_status (*begin)(void *state, FILE *out, const char *path, size_t processes,
                            struct mp_error *error);
    enum mp_status (*process)(void *state, const struct export_process *process,
                              struct mp_error *error);
    enum mp_status (*row)(void *state, const struct export_row *row);
    enum mp_status (*process_end)(void *state, struct mp_error *error);
    enum mp_status (*end)(void *state, struct mp_error *error);
    void (*release)(void *state); /* always, last; after a failure too */
};

/* All of them, in the order of --help. A new one is a line here, and its file. */
#define EXPORT_FORMATS(FORMAT)                                                                     \
    FORMAT(perfetto)                                                                               \
    FORMAT(kineto)                                                                                 \
    FORMAT(nsys_sqlite)                                                                            \
    FORMAT(nsys_parquet)                                                                           \
    FORMAT(parquet)                                                                                \
    FORMAT(jsonl)                                                                                  \
    FORMAT(csv)                                                                                    \
    FORMAT(chrome)                                                                                 \
    FORMAT(folded)

#define EXPORT_DECLARE(format) extern const struct export_format export_##format;
EXPORT_FORMATS(EXPORT_DECLARE)
#undef EXPORT_DECLARE

/* *count of them. */
const struct export_format *const *export_formats(size_t *count);

#endif
