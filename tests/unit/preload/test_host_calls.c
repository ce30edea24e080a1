/* preload/host_calls: host functions that a driver of this test takes, refuses, or takes and
 * reports an error of earlier work. Expected values follow from what this driver was made to do.
 */
#include "preload/host_calls.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "preload/slots.h"
#include "preload/steps.h"
#include "preload/waits.h"

#include "base/poison.h"

#define CALLS 8

void *preload_find_next(const char *name)
{
    (void)name;
    return NULL;
}

/* ---- The rest of the library ---- */

static unsigned waits_marked, asked_ready, asked_busy;
static bool wanted = true, left_alone;

bool steps_are_wanted(void)
{
    return wanted;
}

void steps_put(enum steps_kind kind, uint32_t name, uint32_t domain)
{
    (void)name;
    (void)domain;
    waits_marked += kind == STEPS_WAIT;
}

void steps_asked(bool ready)
{
    asked_ready += ready;
    asked_busy += !ready;
}

bool waits_left_alone(const void *caller)
{
    (void)caller;
    return left_alone;
}

/* ---- The driver ---- */

static int answer;
static struct taken {
    host_function *function;
    void *data;
} taken[CALLS];
static unsigned taken_count;

static int launch(void *stream, host_function *function, void *data)
{
    (void)stream;
    taken[taken_count++] = (struct taken){function, data};
    return answer;
}

static int is_capturing(void *stream, int *status)
{
    (void)stream;
    *status = 0;
    return 0;
}

void *preload_find_in_driver(const char *name)
{
    (void)name;
    return (void *)is_capturing;
}

/* ---- The program ---- */

static unsigned told, runs[CALLS];

static void tell(const struct mp_preload_host_function *function)
{
    told += function->end >= function->begin;
}

static void run(void *data)
{
    runs[(unsigned *)data - runs]++;
}

typedef int launch_call(void *stream, host_function *function, void *data);

static launch_call *start(int result)
{
    launch_call *call = NULL;
    int row = preload_find_host_call("cuLaunchHostFunc", 0, 0);

    answer = result;
    taken_count = told = 0;
    for (unsigned i = 0; i < CALLS; i++)
        runs[i] = 0;
    atomic_store(&miniprof_preload.host_function, tell);
    *(void **)&call = preload_host_call_for(row, (void *)launch);
    return call;
}

static void each_runs_once(int result)
{
    launch_call *call = start(result);

    for (unsigned i = 0; i < CALLS; i++)
        assert_int_equal(call(NULL, run, &runs[i]), result);
    for (unsigned i = 0; i < CALLS; i++)
        for (unsigned k = 0; k < i; k++)
            assert_ptr_not_equal(taken[i].data, taken[k].data);
    for (unsigned i = 0; i < CALLS; i++) {
        assert_ptr_equal(taken[i].function, host_record_run);
        taken[i].function(taken[i].data);
    }
    for (unsigned i = 0; i < CALLS; i++)
        assert_int_equal(runs[i], 1);
    assert_int_equal(told, CALLS);
}

static void functions_run_and_are_told(void **state)
{
    (void)state;
    each_runs_once(0);
}

static void an_error_of_earlier_work_frees_nothing(void **state)
{
    (void)state;
    each_runs_once(700); /* CUDA_ERROR_ILLEGAL_ADDRESS */
    each_runs_once(719); /* CUDA_ERROR_LAUNCH_FAILED */
}

static void a_refusal_reaches_the_program(void **state)
{
    static const int refusals[] = {1, 201, 400, 801, 900, 906};

    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        launch_call *call = start(refusals[i]);

        assert_int_equal(call(NULL, run, &runs[0]), refusals[i]);
        assert_int_equal(call(NULL, run, &runs[1]), refusals[i]);
        assert_int_equal(told, 0);
    }
}

/* ---- Graphs ---- */

#define MAX 65536 /* docs/reliability.md */

struct node_of {
    host_function *function;
    void *data;
};

static unsigned own_functions;

static int add_node(void *node, void *graph, const void *needs, size_t count,
                    const struct node_of *params)
{
    (void)node;
    (void)graph;
    (void)needs;
    (void)count;
    own_functions += params->function == run;
    return 0;
}

static void beyond_the_most_they_are_counted(void **state)
{
    int (*call)(void *, void *, const void *, size_t, const struct node_of *) = NULL;
    int row = preload_find_host_call("cuGraphAddHostNode", 0, 0);
    const struct node_of params = {run, &runs[0]};

    (void)state;
    start(0);
    *(void **)&call = preload_host_call_for(row, (void *)add_node);
    for (unsigned i = 0; i < MAX; i++)
        assert_int_equal(call(NULL, NULL, NULL, 0, &params), 0);
    assert_int_equal(own_functions, 0);
    assert_int_equal(miniprof_preload.host_functions_lost, 0);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(call(NULL, NULL, NULL, 0, &params), 0);
    assert_int_equal(own_functions, 3);
    assert_int_equal(miniprof_preload.host_functions_lost, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_run_and_are_told),
        cmocka_unit_test(an_error_of_earlier_work_frees_nothing),
        cmocka_unit_test(a_refusal_reaches_the_program),
        cmocka_unit_test(beyond_the_most_they_are_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
