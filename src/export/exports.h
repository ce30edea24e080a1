/* What `miniprof export` does once its options are read: finds out where the output goes, and has a
 * format write the rows of traces. `miniprof fleet add` (fleet.c) does so for each trace. */
#ifndef MP_EXPORT_EXPORTS_H
#define MP_EXPORT_EXPORTS_H

#include <stdio.h>

#include "export/format.h"

#define EXPORT_MAX_OWN 16 /* own options of all formats together */

struct export_setting {
    const char *name, *value;
};

struct export_job {
    const char *command;
    const struct export_format *format;
    struct export_options options;
    const char *output; /* -o; NULL: beside the trace */
    const char *table;  /* of a format that writes a folder only this one; NULL: all */
    struct export_setting settings[EXPORT_MAX_OWN]; /* the format's own options that were given */
    size_t setting_count;
    bool force;                /* what exists is replaced */
    bool own_progress;         /* the caller shows the progress */
    const struct ranks *ranks; /* of the processes' job, where the caller has matched it, and */
    uint32_t ranks_process;    /* the number of the first process there */

    /* Filled in on the way. */
    const struct trace_set *set;
    const struct trace_process *processes; /* to write */
    size_t count;
    const char *path;  /* of the output, for complaints */
    bool cannot_write; /* the output failed, not a trace */
};

/* Exports the set. `argument` is the trace or folder of the command line; NULL: several. Returns
 * the exit code, after complaints. */
int export_set(struct export_job *job, const struct trace_set *traces, const char *argument);

/* Inside: writes the processes to `out`, or into `folder` if the format wants one. Returns the exit
 * code: EXIT_FINDINGS if a trace is not whole; EXIT_USAGE and more after a complaint. */
int export_write(struct export_job *job, FILE *out, const char *folder);

/* Inside: matches NCCL's operations of the set. Traces that cannot be read, or without calls of
 * NCCL, have no part in it. False, and nothing to free, unless two have some; out of memory, too.
 */
bool export_match(const struct trace_set *set, struct ranks *ranks);

/* Inside: notes that the output failed and complains with errno, unless a signal has stopped the
 * work. Returns EXIT_UNREADABLE. */
int export_cannot_write(struct export_job *job);

#endif
