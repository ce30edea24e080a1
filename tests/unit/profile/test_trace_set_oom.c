/* Sets of traces, and the reports over them, when memory is out, at each allocation in turn: an
 * error, or the whole report; nothing is lost and nothing is read that is not there. malloc and its
 * kin are wrapped (tests/tests.mk).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "profile/set.h"
#include "reports/summary/merge.h"
#include "reports/summary/print.h"
#include "reports/trace/trace.h"
#include "tools/known_trace.h"
#include "unit/failing_malloc.h"

#define MAX_ALLOCATIONS 5000
#define TRACES          3

static char paths[TRACES][64];
static const char *names[TRACES];

static void write_traces(void)
{
    static const char *const headers[TRACES] = {
        "pid=7\nhostname=a\nrank=0\nclock=monotonic\nstart_clock_ns=5\nstart_realtime_ns=50\n",
        "pid=7\nhostname=a\nrank=0\nclock=monotonic\nstart_clock_ns=5\nstart_realtime_ns=60\n",
        "pid=9\nhostname=b\nrank=0\n",
    };

    for (int i = 0; i < TRACES; i++) {
        snprintf(paths[i], sizeof paths[i], "/tmp/test_trace_set_oom.%d.%d", (int)getpid(), i);
        unlink(paths[i]);
        assert_true(known_write(paths[i], &(struct known_options){.header = headers[i]}));
        names[i] = paths[i];
    }
}

static enum mp_status list(FILE *file, enum report_format format)
{
    const struct report_out out = {.file = file, .format = format};
    struct trace_set set;
    struct mp_error error;
    enum mp_status status = trace_set_open(names, TRACES, &set, &error);

    if (status != MP_OK)
        return status;
    status = print_processes(&out, &set, NULL);
    trace_set_free(&set);
    return status;
}

static enum mp_status stream(FILE *file, enum report_format format)
{
    const struct report_out out = {.file = file, .format = format};
    const struct traces_options options = {.gpu = true, .api = true, .style = NAMES_MANGLED};
    struct trace_set set;
    struct mp_error error;
    bool whole;
    enum mp_status status = trace_set_open(names, TRACES, &set, &error);

    if (status != MP_OK)
        return status;
    status = print_traces_merged(&out, &set, &options, &whole, &error);
    assert_true(status != MP_OK || whole);
    trace_set_free(&set);
    return status;
}

static enum mp_status add(struct summary_merge *merge, uint32_t process)
{
    const struct summary_options options = {.style = NAMES_MANGLED};
    struct mp_trace *trace;
    struct summary summary;
    enum mp_status status = mp_trace_open(names[process], &trace, NULL);

    if (status != MP_OK)
        return status;
    status = summary_build(trace, &options, &summary, NULL);
    if (status == MP_OK) {
        status = summary_merge_add(merge, &summary, process);
        summary_free(&summary);
    }
    mp_trace_close(trace);
    return status;
}

static enum mp_status beside(FILE *file, enum report_format format)
{
    const struct report_out out = {.file = file, .format = format};
    const struct merged_process found[TRACES] = {{.warning = NULL}};
    const bool is_read[TRACES] = {true, true, true};
    struct summary_merge merge;
    struct trace_set set;
    enum mp_status status = trace_set_open(names, TRACES, &set, NULL);

    if (status != MP_OK)
        return status;
    summary_merge_init(&merge, true);
    for (uint32_t i = 0; i < TRACES && status == MP_OK; i++)
        status = add(&merge, i);
    if (status == MP_OK)
        status = summary_merge_finish(&merge);
    if (status == MP_OK)
        status = print_side_by_side(
            &out, &(struct merged_report){
                      .set = &set, .merge = &merge, .found = found, .is_read = is_read});
    summary_merge_free(&merge);
    trace_set_free(&set);
    return status;
}

static void each_allocation_may_fail(void **state)
{
    static enum mp_status (*const reports[])(FILE *, enum report_format) = {list, stream, beside};
    static const enum report_format formats[] = {REPORT_TEXT, REPORT_CSV, REPORT_JSON};

    (void)state;
    write_traces();
    for (size_t i = 0; i < 9; i++) {
        enum mp_status status = MP_ERR_MEMORY;
        unsigned failing = 0;

        while (status == MP_ERR_MEMORY && ++failing < MAX_ALLOCATIONS) {
            FILE *file = tmpfile();

            countdown = failing;
            status = reports[i / 3](file, formats[i % 3]);
            countdown = 0;
            assert_true(status != MP_OK || ftell(file) > 300);
            fclose(file);
        }
        assert_int_equal(status, MP_OK);
        assert_true(failing > 15);
    }
    for (int i = 0; i < TRACES; i++)
        unlink(paths[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_allocation_may_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
