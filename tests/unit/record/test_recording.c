/* What the writer makes rows of, but for CUPTI's records (test_decode.c): here the counters of what
 * went wrong, and steps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cmocka.h>

#include "record/process/recorder.h"
#include "unit/trace_fixture.h"

static struct recorder recorder;
static struct recording *const recording = &recorder.recording;
static int fd;

static int open_recording(void **state)
{
    (void)state;
    memset(&recorder, 0, sizeof(recorder));
    assert_int_equal(call_logs_open(&recorder.gpu.core.logs), MP_OK);
    assert_int_equal(work_queue_open(&recorder.gpu.core.work, 1), MP_OK);
    edges_open(&recorder.graphs.edges);
    fd = fixture_file(NULL, 0);
    recording->pool = &recorder.gpu.pool;
    recording->queue = &recorder.gpu.core.work;
    recording->logs = &recorder.gpu.core.logs;
    recording->waits = &recorder.waits;
    recording->edges = &recorder.graphs.edges;
    recording->profiled = &recorder.profiling.profiled;
    recording->gpu = &recorder.gpu;
    recording->stacks = &recorder.stacks;
    recording->host_nodes = &recorder.graphs.host_nodes;
    recording->step_names = recorder.baseline.names;
    assert_int_equal(recording_open(recording, fixture_writer(fd, "", 0), &recorder.gpu.cupti,
                                    &recorder.gpu.api, MP_CAPTURE_ALL, true),
                     MP_OK);
    return 0;
}

static int close_recording(void **state)
{
    (void)state;
    recording_close(recording);
    work_queue_close(&recorder.gpu.core.work);
    close(fd);
    return 0;
}

/* ---- What the file has ---- */

static char said[2000];
static char strings[64][40];

static void keep_strings(const struct mp_batch *batch)
{
    for (uint32_t row = 0; row < batch->rows; row++) {
        uint64_t id = batch->columns[MP_COLUMN_string_id][row];
        uint32_t begin = row ? batch->text_end[row - 1] : 0;

        assert_true(id < sizeof strings / sizeof *strings);
        snprintf(strings[id], sizeof strings[id], "%.*s", (int)(batch->text_end[row] - begin),
                 batch->text + begin);
    }
}

/* "NAME=VALUE ", with all columns that are REF(string) as texts. */
static void show(const struct mp_batch *batch, uint32_t row)
{
    for (unsigned i = 0; i < batch->table->column_count; i++) {
        const struct mp_column_info *column = &batch->table->columns[i];
        uint64_t value = batch->columns[i][row];
        size_t used = strlen(said);

        if (column->reference && strcmp(column->reference, "string") == 0)
            snprintf(said + used, sizeof said - used, "%s=%s ", column->name, strings[value]);
        else if (strcmp(column->name, "time") != 0)
            snprintf(said + used, sizeof said - used, "%s=%llu ", column->name,
                     (unsigned long long)value);
    }
}

/* The rows of a table, but for their times. Closes the file. */
static const char *rows_of(unsigned table)
{
    struct mp_trace *trace;
    struct mp_cursor *cursor;
    struct mp_batch batch;

    assert_int_equal(mp_writer_close(recording->writer, NULL), MP_OK);
    said[0] = '\0';
    assert_int_equal(mp_trace_open(fixture_path(fd), &trace, NULL), MP_OK);
    assert_int_equal(mp_cursor_open(trace, &cursor, NULL), MP_OK);
    while (mp_cursor_next(cursor, &batch) == MP_OK) {
        if (batch.table->id == MP_TABLE_string)
            keep_strings(&batch);
        for (uint32_t row = 0; batch.table->id == table && row < batch.rows; row++)
            show(&batch, row);
    }
    mp_cursor_close(cursor);
    mp_trace_close(trace);
    return said;
}

/* ---- Tests ---- */

/* Each counter has its own number; what has not changed is not said again. */
static void what_went_wrong_is_counted_by_name(void **state)
{
    struct decode_counts *counts = &recording->decoder.counts;

    (void)state;
    atomic_store(&recorder.gpu.pool.discarded, 11);
    atomic_store(&recorder.gpu.pool.exhausted, 12);
    atomic_store(&recorder.gpu.core.work.lost, 13);
    atomic_store(&recorder.waits.lost, 14);
    atomic_store(&recorder.profiling.profiled.lost, 15);
    recorder.profiling.profiled.rows_filled = 16;
    counts->zero_times = 17;
    counts->reversed_times = 18;
    counts->foreign_times = 19;
    counts->unknown = 20;
    counts->device_launches = 21;
    recording->decoder.nested.dropped = 22;
    recording->paths.lost = 23;
    recording->lag.max = 24999999;
    recording_flush(recording);
    counts->unknown = 25;
    recording_flush(recording);
    assert_string_equal(rows_of(MP_TABLE_quality),
                        "name=dropped_overflow value=11 name=dropped_marks value=13 "
                        "name=dropped_paths value=23 name=dropped_waits value=14 "
                        "name=dropped_metrics value=15 name=dropped_foreign_times value=19 "
                        "name=buffers_exhausted value=12 name=zero_timestamps value=17 "
                        "name=reversed_timestamps value=18 name=unknown_records value=20 "
                        "name=nested_driver_calls value=22 name=gpu_behind_ms value=24 "
                        "name=device_launches value=21 name=profiled_kernels value=16 "
                        "name=unknown_records value=25 ");
}

static void steps_are_rows(void **state)
{
    const struct call_entry recorded = {
        .kind = CALL_ENTRY_STEP, .start = 100, .end = 130, .event = 2, .detail = 1};
    const struct call_entry bare = {.kind = CALL_ENTRY_STEP, .start = 130, .end = 150, .event = 1};
    struct call_log *log = call_log_mine(&recorder.gpu.core.logs);

    (void)state;
    snprintf(recorder.baseline.names[1], STEP_NAME_BYTES, "first");
    snprintf(recorder.baseline.names[2], STEP_NAME_BYTES, "second");
    call_log_put(log, &recorded);
    call_log_put(log, &bare);
    recording_round(recording);
    assert_string_equal(rows_of(MP_TABLE_step),
                        "thread=1 name=second recorded=1 start=100 duration=30 run=0 bare=0 "
                        "thread=1 name=first recorded=0 start=130 duration=20 run=0 bare=0 ");
}

/* A thread has the system's name of it when it is first used, and the one that it has at the end.
 * What NVTX says counts more, and a thread that has ended keeps what is known. */
static void threads_have_names(void **state)
{
    struct dictionary *dictionary = &recording->dictionary;
    uint32_t tid = (uint32_t)gettid();

    (void)state;
    prctl(PR_SET_NAME, "loader");
    assert_int_equal(dictionary_thread(dictionary, tid), 1);
    assert_int_equal(dictionary_thread(dictionary, UINT32_MAX), 2);
    dictionary_refresh_threads(dictionary);
    prctl(PR_SET_NAME, "trainer");
    dictionary_refresh_threads(dictionary);
    dictionary_name_thread(dictionary, tid, "by NVTX");
    dictionary_refresh_threads(dictionary);
    rows_of(MP_TABLE_thread);
    for (char *at; (at = strstr(said, "tid="));) /* the number may be anything */
        memmove(at, strchr(at, ' ') + 1, strlen(strchr(at, ' ') + 1) + 1);
    assert_string_equal(said, "id=1 name=loader id=2 name= id=1 name=trainer id=1 name=by NVTX ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_went_wrong_is_counted_by_name, open_recording,
                                        close_recording),
        cmocka_unit_test_setup_teardown(steps_are_rows, open_recording, close_recording),
        cmocka_unit_test_setup_teardown(threads_have_names, open_recording, close_recording),
    };

    return cmocka_run_group_tests_name("record/recording", tests, NULL, NULL);
}
