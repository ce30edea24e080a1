/* Which trace files a program wrote: its own, those of programs that it became by exec, and those
 * of its children. */
#ifndef MP_TOOL_COMMON_WRITTEN_TRACES_H
#define MP_TOOL_COMMON_WRITTEN_TRACES_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <time.h>

#include "base/status.h"

struct written_traces {
    char own[PATH_MAX]; /* where the process `pid` writes */
    bool own_exists;
    char **others; /* of other programs, numbers in the names in order; owned, as are the texts */
    size_t other_count;
    size_t other_capacity;
};

/* Looks for the files that the output pattern gives, as far as they were changed at or after
 * `since`. MP_ERR_ARGUMENT or MP_ERR_LIMIT when the pattern cannot be expanded, MP_ERR_MEMORY.
 * written_traces_free afterwards, also then. */
enum mp_status written_traces_find(struct written_traces *traces, const char *pattern, pid_t pid,
                                   const struct timespec *since, struct mp_error *error);

void written_traces_free(struct written_traces *traces);

#endif
