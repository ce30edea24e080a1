/* Writes the traces of a played job and reads them as a command would.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "unit/job/job_fixture.h"
#include "unit/trace_fixture.h"

static void write_rank(struct job_scene *scene, const struct play *play, uint32_t rank)
{
    struct mp_writer *writer;

    scene->fds[rank] = fixture_file(NULL, 0);
    writer = fixture_writer(scene->fds[rank], FIXTURE_HEADER "cupti_version=130001\n", 0);
    play_write(play, rank, writer);
    assert_int_equal(mp_writer_close(writer, NULL), MP_OK);
}

/* Opens the trace of a rank for one of the two passes. */
static struct mp_trace *open_rank(const struct job_scene *scene, uint32_t rank)
{
    struct mp_trace *trace;

    assert_int_equal(mp_trace_open(fixture_path(scene->fds[rank]), &trace, NULL), MP_OK);
    return trace;
}

static void match_ranks(struct job_scene *scene, uint32_t count)
{
    ranks_init(&scene->ranks);
    for (uint32_t i = 0; i < count; i++) {
        struct mp_trace *trace = open_rank(scene, i);
        struct quality quality;

        assert_int_equal(ranks_add(&scene->ranks, trace, i, i, &quality, NULL), MP_OK);
        quality_free(&quality);
        mp_trace_close(trace);
    }
    assert_int_equal(ranks_finish(&scene->ranks, &scene->set), MP_OK);
}

static void join_ranks(struct job_scene *scene, uint32_t count)
{
    const struct deps_options options = {.fronts = true};
    struct mp_error error = {.text = ""};

    assert_int_equal(job_init(&scene->job, &scene->set, &scene->ranks), MP_OK);
    for (uint32_t i = 0; i < count; i++) {
        struct mp_trace *trace = open_rank(scene, i);
        struct quality quality;

        assert_int_equal(job_add(&scene->job, trace, i, i, &options, &quality, &error), MP_OK);
        quality_free(&quality);
        mp_trace_close(trace);
    }
    assert_int_equal(job_link(&scene->job), MP_OK);
    assert_int_equal(job_windows(&scene->job, 0, &scene->windows, &error), MP_OK);
}

void job_scene_load(struct job_scene *scene, const struct play *play)
{
    memset(scene, 0, sizeof *scene);
    scene->set.processes = scene->processes;
    scene->set.count = play->ranks;
    scene->set.clock_count = 1;
    scene->set.first_time = play->begin;
    for (uint32_t i = 0; i < play->ranks; i++)
        write_rank(scene, play, i);
    match_ranks(scene, play->ranks);
    join_ranks(scene, play->ranks);
}

void job_scene_free(struct job_scene *scene)
{
    deps_windows_free(&scene->windows);
    job_free(&scene->job);
    ranks_free(&scene->ranks);
    for (size_t i = 0; i < scene->set.count; i++)
        close(scene->fds[i]);
}

uint64_t job_scene_length(const struct job_scene *scene, const char *changes)
{
    struct deps_changes parsed = {.items = NULL};
    char *copy = strdup(changes), *rest = copy, *one;
    uint64_t length;

    while ((one = strsep(&rest, " ")) != NULL) {
        if (*one)
            assert_int_equal(deps_changes_add(&parsed, one, NULL), MP_OK);
    }
    assert_null(deps_changes_unmatched(&parsed, &scene->job.deps));
    assert_int_equal(deps_replay(&scene->job.deps, &parsed, &scene->windows, &length), MP_OK);
    deps_changes_free(&parsed);
    free(copy);
    return length;
}
