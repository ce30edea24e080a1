/* Starts a program with the recorder in it; `run` and nvprof's command line share this code. */
#ifndef MP_RUN_LAUNCH_H
#define MP_RUN_LAUNCH_H

#include <limits.h>
#include <stdbool.h>
#include <time.h>

#include "run/child.h"

struct launch {
    char library[PATH_MAX]; /* libminiprof.so, absolute */
    char preload[PATH_MAX]; /* libminiprof_preload.so beside it, absolute; empty: there is none */

    /* Sets the recorder's settings with setenv, in the child; false when memory is out. */
    bool (*export_settings)(const void *context);
    const void *context;

    const char *program; /* launch_run's argv[0] */
};

/* Finds the library to inject: `given`, or beside this command, or in ../lib. Returns false if
 * there is none. */
bool launch_find_library(struct launch *launch, const char *given);

/* Runs argv with the two injection variables and the settings. If recording waits for a range,
 * LD_PRELOAD is set too, and MINIPROF_ATTACH=graph unless the variable is already set. Otherwise as
 * child_run. */
int launch_run(struct launch *launch, char **argv, struct child *child);

/* The least time stamp of files that are written from now on. File systems take times from the
 * kernel's tick, which is slightly behind the clock. */
struct timespec launch_file_time(void);

#endif
