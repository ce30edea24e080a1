/* Kineto's, Chrome's and folded formats when memory is out, at each allocation in turn: an error,
 * or the whole export; nothing is lost and nothing is read that is not there. malloc and its kin
 * are wrapped (tests/tests.mk).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export/format.h"
#include "export/gzip.h"
#include "unit/failing_malloc.h"

static char trace_path[4096];
static const char *out_path; /* what the format is told */
static const struct export_format *format;
static struct trace_set set;
static const struct export_options options = {.style = NAMES_READABLE, .analyses = true};

static void open_traces(void)
{
    const char *const paths[] = {trace_path};
    const char *source = getenv("SOURCE");
    struct mp_error error;

    snprintf(trace_path, sizeof trace_path, "%s/tests/data/set/rank0.mpt", source ? source : ".");
    assert_int_equal(trace_set_open(paths, 1, &set, &error), MP_OK);
    assert_int_equal(set.count, 1);
}

static enum mp_status write_rows(void *state, const struct export_process *process,
                                 struct mp_error *error)
{
    enum mp_status status = format->process(state, process, error);
    struct export_row row;

    while (status == MP_OK && (status = export_rows_next(process->rows, &row)) == MP_OK)
        status = format->row(state, &row);
    return status == MP_END ? format->process_end(state, error) : status;
}

static enum mp_status write_process(void *state, FILE *out, struct mp_trace *trace,
                                    struct mp_error *error)
{
    struct export_process process = {
        .trace = trace, .options = &options, .set = &set, .who = set.processes, .count = 1};
    enum mp_status status = export_rows_open(trace, &options, &process.rows, error);

    if (status != MP_OK)
        return status;
    status = format->begin(state, out, out_path, 1, error);
    if (status == MP_OK)
        status = write_rows(state, &process, error);
    if (status == MP_OK)
        status = format->end(state, error);
    format->release(state);
    export_rows_close(process.rows);
    return status;
}

static enum mp_status write_trace(struct mp_error *error)
{
    static _Alignas(max_align_t) char state[65536];
    struct mp_trace *trace;
    FILE *out = fopen("/dev/null", "w");
    enum mp_status status = mp_trace_open(trace_path, &trace, error);

    assert_non_null(out);
    assert_true(format->state_bytes <= sizeof state);
    memset(state, 0, sizeof state);
    if (status == MP_OK) {
        status = write_process(state, out, trace, error);
        mp_trace_close(trace);
    }
    assert_int_equal(fclose(out), 0);
    /* A row that fails says nothing; the command does. */
    return status && !*error->text ? mp_error_set(error, status, "no memory") : status;
}

static void check(const struct export_format *checked, const char *path)
{
    format = checked;
    out_path = path;
    expect_memory_errors_of(write_trace, 100);
}

static void kineto_without_memory(void **state)
{
    (void)state;
    check(&export_kineto, "a.json");
}

static void compressed_without_memory(void **state)
{
    (void)state;
    if (gzip_library())
        check(&export_kineto, "a.json.gz");
}

static void chrome_without_memory(void **state)
{
    (void)state;
    check(&export_chrome, NULL);
}

static void folded_without_memory(void **state)
{
    (void)state;
    check(&export_folded, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kineto_without_memory),
        cmocka_unit_test(compressed_without_memory),
        cmocka_unit_test(chrome_without_memory),
        cmocka_unit_test(folded_without_memory),
    };
    int failed;

    open_traces();
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    trace_set_free(&set);
    return failed;
}
