/* A job when memory runs out: every allocation fails once, in turn. What is left behind, a
 * sanitizer finds (make SAN=address check).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "page/page.h"
#include "reports/advise/advise.h"
#include "unit/failing_malloc.h"
#include "unit/job/job_fixture.h"
#include "unit/trace_fixture.h"

static struct play play;
static struct job_scene scene;
static FILE *nowhere;

static enum mp_status join(struct job *job, struct mp_error *error)
{
    const struct deps_options options = {.fronts = true};
    enum mp_status status = job_init(job, &scene.set, &scene.ranks);

    for (uint32_t i = 0; i < play.ranks && status == MP_OK; i++) {
        struct mp_trace *trace;
        struct quality quality;

        status = mp_trace_open(fixture_path(scene.fds[i]), &trace, error);
        if (status != MP_OK)
            return status;
        status = job_add(job, trace, i, i, &options, &quality, error);
        quality_free(&quality);
        mp_trace_close(trace);
        if (status != MP_OK)
            return status;
    }
    if (status == MP_OK)
        status = job_link(job);
    return status ? mp_error_set(error, status, "memory") : MP_OK;
}

static enum mp_status join_step(struct mp_error *error)
{
    struct job job;
    struct deps_windows windows = {.items = NULL};
    enum mp_status status = join(&job, error);

    if (status == MP_OK)
        status = job_windows(&job, 0, &windows, error);
    deps_windows_free(&windows);
    job_free(&job);
    return status;
}

static void joining(void **state)
{
    static const struct play_changes none;

    (void)state;
    play_make(&play, 7, PLAY_IN_STEP);
    play_run(&play, &none);
    job_scene_load(&scene, &play);
    expect_memory_errors_of(join_step, 40);
    job_scene_free(&scene);
}

static enum mp_status ask_step(struct mp_error *error)
{
    struct deps_changes changes = {.items = NULL};
    struct deps_windows windows;
    struct job_usage usage = {.ranks = NULL};
    struct job_taken taken = {.by_name = NULL};
    uint64_t length;
    enum mp_status status = job_windows(&scene.job, 0, &windows, error);

    if (status == MP_OK)
        status = deps_changes_add(&changes, "rank1:late=0", error);
    if (status == MP_OK)
        status = job_replay(&scene.job, &changes, &windows, &length, &taken);
    if (status == MP_OK)
        status = job_use(&scene.job.deps, &windows, &usage);
    job_usage_free(&usage);
    job_taken_free(&taken);
    deps_changes_free(&changes);
    deps_windows_free(&windows);
    return status ? mp_error_set(error, status, "memory") : MP_OK;
}

static enum mp_status advise_step(struct mp_error *error)
{
    struct job_answer answer;
    struct advice advice;
    enum mp_status status = job_answer_find(&scene.job, &scene.windows, NULL, &answer, &advice);

    if (status == MP_OK) {
        advise_free(&advice);
        job_answer_free(&answer);
    }
    return status ? mp_error_set(error, status, "memory") : MP_OK;
}

/* The documents of a page; the job is only lent to it. */
static enum mp_status page_step(struct mp_error *error)
{
    static const char *const warnings[PLAY_RANKS] = {NULL};
    struct html_page page = {.out = nowhere};
    struct html_job job = {
        .study = {.job = scene.job, .iterations = scene.windows},
        .ranks = {.set = &scene.set, .ranks = &scene.ranks, .warnings = warnings},
        .windows = scene.windows,
    };
    enum mp_status status = html_job_add(&page, &job);

    scene.job = job.study.job;
    free(job.critical);
    free(job.peers);
    return status ? mp_error_set(error, status, "memory") : MP_OK;
}

/* A replay that failed leaves a graph of no use, so each try has a new one. */
static enum mp_status again(enum mp_status (*step)(struct mp_error *), struct mp_error *error)
{
    unsigned left = countdown;
    enum mp_status status;

    countdown = 0;
    job_free(&scene.job);
    assert_int_equal(join(&scene.job, error), MP_OK);
    countdown = left;
    status = step(error);
    return status;
}

static enum mp_status ask_anew(struct mp_error *error)
{
    return again(ask_step, error);
}

static enum mp_status advise_anew(struct mp_error *error)
{
    return again(advise_step, error);
}

static enum mp_status page_anew(struct mp_error *error)
{
    return again(page_step, error);
}

static void asking(void **state)
{
    static const struct play_changes none;

    (void)state;
    play_make(&play, 7, PLAY_IN_STEP);
    play_run(&play, &none);
    job_scene_load(&scene, &play);
    expect_memory_errors_of(ask_anew, 15);
    expect_memory_errors_of(advise_anew, 15);
    nowhere = fopen("/dev/null", "w");
    assert_non_null(nowhere);
    expect_memory_errors_of(page_anew, 15);
    fclose(nowhere);
    job_scene_free(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(joining),
        cmocka_unit_test(asking),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
