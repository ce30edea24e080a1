/* Which trace files a program wrote: its own, those of programs that replaced it by exec, and those
 * of its children. */
#ifndef MP_RUN_WRITTEN_TRACES_H
#define MP_RUN_WRITTEN_TRACES_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <time.h>

#include "base/status.h"

struct written_traces {
    char own[PATH_MAX]; /* where the process `pid` writes */
    bool own_exists;
    char **others; /* of other programs, sorted with numbers in the names by value; owned, as are
                      the texts */
    size_t other_count;
    size_t other_capacity;
};

/* Finds the files that match the output pattern and were changed at or after `since`.
 * MP_ERR_ARGUMENT or MP_ERR_LIMIT when the pattern cannot be expanded, MP_ERR_MEMORY. Call
 * written_traces_free afterwards, also after a failure. */
enum mp_status written_traces_find(struct written_traces *traces, const char *pattern, pid_t pid,
                                   const struct timespec *since, struct mp_error *error);

void written_traces_free(struct written_traces *traces);

#endif
