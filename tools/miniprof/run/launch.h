/* Starting a program with the collector in it: what `run` and nvprof's command line share. */
#ifndef MP_TOOL_RUN_LAUNCH_H
#define MP_TOOL_RUN_LAUNCH_H

#include <limits.h>
#include <stdbool.h>
#include <time.h>

#include "run/child.h"

struct launch {
    char library[PATH_MAX]; /* libminiprof.so, absolute */
    char preload[PATH_MAX]; /* libminiprof_preload.so beside it, absolute; empty: there is none */

    /* Sets the collector's settings with setenv, in the child; false when memory is out. */
    bool (*export_settings)(const void *context);
    const void *context;

    const char *program; /* launch_run's argv[0] */
};

/* Finds the library to inject: `given`, or beside this command, or in ../lib. False when there is
 * none. */
bool launch_find_library(struct launch *launch, const char *given);

/* Runs argv with the two injection variables and the settings; where recording waits for a range,
 * with LD_PRELOAD and MINIPROF_ATTACH=graph, unless that is set. As child_run. */
int launch_run(struct launch *launch, char **argv, struct child *child);

/* The time that files written from now on have at least: file systems keep times by the kernel's
 * tick, a little behind the clock. */
struct timespec launch_file_time(void);

#endif
