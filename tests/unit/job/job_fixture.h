/* A played job as the analysis sees it: its traces written, read, matched and joined.
 */
#ifndef MP_TESTS_JOB_FIXTURE_H
#define MP_TESTS_JOB_FIXTURE_H

#include "reports/job/job.h"
#include "unit/job/play.h"

struct job_scene {
    int fds[PLAY_RANKS];
    struct trace_process processes[PLAY_RANKS];
    struct trace_set set;
    struct ranks ranks;
    struct job job;
    struct deps_windows windows;
};

/* job_scene_free is due. */
void job_scene_load(struct job_scene *scene, const struct play *play);
void job_scene_free(struct job_scene *scene);

/* The length of the first window with changes, separated by spaces. */
uint64_t job_scene_length(const struct job_scene *scene, const char *changes);

#endif
