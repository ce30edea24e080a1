/* The flight recorder's memory: when names and launch shapes take half of it, or the dictionary
 * that finds them more than all, recording begins anew. And the names of its files.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/io.h"
#include "record/process/flight.h"
#include "record/process/recorder.h"
#include "unit/trace_fixture.h"

#define NO_LIMIT SIZE_MAX

static struct recorder recorder;
static int fd;

static int open_recording(void **state)
{
    struct recording *recording = &recorder.recording;

    (void)state;
    memset(&recorder, 0, sizeof(recorder));
    assert_int_equal(call_logs_open(&recorder.gpu.core.logs), MP_OK);
    edges_open(&recorder.graphs.edges);
    recording->profiled = &recorder.profiling.profiled;
    recording->edges = &recorder.graphs.edges;
    recording->gpu = &recorder.gpu;
    recording->stacks = &recorder.stacks;
    recording->host_nodes = &recorder.graphs.host_nodes;
    recording->step_names = recorder.baseline.names;
    fd = fixture_file(NULL, 0);
    assert_int_equal(recording_open(recording, fixture_writer(fd, "", 0), &recorder.gpu.cupti,
                                    &recorder.gpu.api, MP_CAPTURE_ALL, true),
                     MP_OK);
    return 0;
}

static int close_recording(void **state)
{
    (void)state;
    assert_int_equal(mp_writer_close(recorder.recording.writer, NULL), MP_OK);
    recording_close(&recorder.recording);
    close(fd);
    return 0;
}

/* Whether recording begins anew with these bytes of chunks and this much memory. */
static bool begins_anew(size_t kept, size_t max)
{
    uint64_t before = recorder.flight.anew;

    recorder.flight.ring.max = max;
    recorder.flight.ring.kept.bytes = kept;
    flight_round(&recorder);
    recorder.flight.ring.kept.bytes = 0;
    return recorder.flight.anew > before;
}

static void chunks_of_names_may_take_half(void **state)
{
    (void)state;
    assert_false(begins_anew(NO_LIMIT / 2, NO_LIMIT));
    assert_true(begins_anew(NO_LIMIT / 2 + 1, NO_LIMIT));
}

static void the_dictionary_may_take_as_much_as_all(void **state)
{
    struct dictionary *dictionary = &recorder.recording.dictionary;
    size_t bytes;

    (void)state;
    assert_true(dictionary_string(dictionary, "a name") > 0);
    bytes = dictionary_bytes(dictionary);
    assert_true(bytes > 0);
    assert_false(begins_anew(0, bytes));
    assert_true(begins_anew(0, bytes - 1));
    assert_false(begins_anew(0, bytes - 1)); /* which has emptied it */
}

/* ---- Files ---- */

/* Puts a trace of that process where the first file shall be. */
static void leave_trace(const char *path, int pid)
{
    struct mp_writer *writer;
    char header[64];
    int file;

    snprintf(header, sizeof(header), "miniprof=1\npid=%d\n", pid);
    assert_int_equal(mp_create_exclusive(path, &file, NULL), MP_OK);
    writer = fixture_writer(file, header, 0);
    assert_int_equal(mp_writer_close(writer, NULL), MP_OK);
    close(file);
}

/* Publishes a file in a folder that has a trace of that process already: what it is called there,
 * or what is wrong. */
static const char *published(int pid)
{
    static struct trace_file output;
    static char path[PATH_MAX];
    char folder[] = "/tmp/miniprof-flight-XXXXXX";
    struct mp_error error = {.text = ""};
    enum mp_status status;

    assert_non_null(mkdtemp(folder));
    memset(&output, 0, sizeof(output));
    output.folder = -1;
    snprintf(output.path, sizeof(output.path), "%s/a.mpt", folder);
    memcpy(output.place, output.path, sizeof(output.place));
    leave_trace(output.place, pid);
    assert_int_equal(flight_file_begin(&output, &error), MP_OK);
    status = flight_file_publish(&output, path, sizeof(path), &error);
    if (status == MP_OK)
        unlink(path);
    else
        flight_file_discard(&output);
    flight_file_close(&output);
    unlink(output.place);
    assert_int_equal(rmdir(folder), 0);
    return status == MP_OK ? strrchr(path, '/') + 1 : "not published";
}

/* As after an exec, which keeps the process id and forgets how many files there are. */
static void a_file_of_before_an_exec_keeps_its_name(void **state)
{
    (void)state;
    assert_string_equal(published(getpid()), "a.2.mpt");
}

static void a_file_of_another_process_is_no_place_to_count_from(void **state)
{
    (void)state;
    assert_string_equal(published(getpid() + 1), "not published");
}

/* ---- What a file says of itself ---- */

static void set(const char *name, const char *value)
{
    assert_int_equal(
        mp_config_set(&recorder.gpu.core.config, mp_setting_by_name(name), value, NULL), MP_OK);
}

static void open_flight(const char *folder)
{
    char path[PATH_MAX];
    struct mp_writer *writer;

    memset(&recorder, 0, sizeof(recorder));
    assert_int_equal(call_logs_open(&recorder.gpu.core.logs), MP_OK);
    edges_open(&recorder.graphs.edges);
    mp_config_init(&recorder.gpu.core.config);
    snprintf(path, sizeof(path), "%s/a.mpt", folder);
    set("MINIPROF_OUTPUT", path);
    set("MINIPROF_FLIGHT", "1h");
    flight_configure(&recorder);
    recorder.recording.profiled = &recorder.profiling.profiled;
    recorder.recording.edges = &recorder.graphs.edges;
    recorder.recording.gpu = &recorder.gpu;
    recorder.recording.stacks = &recorder.stacks;
    recorder.recording.host_nodes = &recorder.graphs.host_nodes;
    recorder.recording.step_names = recorder.baseline.names;
    assert_int_equal(flight_open(&recorder, &writer, NULL), MP_OK);
    assert_int_equal(recording_open(&recorder.recording, writer, &recorder.gpu.cupti,
                                    &recorder.gpu.api, MP_CAPTURE_ALL, true),
                     MP_OK);
}

static void close_flight(void)
{
    assert_int_equal(mp_writer_close(recorder.recording.writer, NULL), MP_OK);
    recording_close(&recorder.recording);
    flight_file_close(&recorder.output);
    flight_close(&recorder.flight);
}

/* Kernels that compress badly; when the last one ends. */
static uint64_t put_kernels(uint64_t from, unsigned count)
{
    uint64_t random = count, end = 0;

    for (unsigned i = 0; i < count; i++) {
        struct mp_row_kernel row = {.start = from + UINT64_C(100000) * i,
                                    .duration = 1 + fixture_random(&random) % 99999};

        mp_append_kernel(recorder.recording.writer, &row);
        end = row.start + row.duration;
    }
    return end;
}

/* Rows that wait when the file is to be written push the oldest ones out of memory: the file begins
 * behind these, and says so. */
static void a_file_begins_where_memory_does(void **state)
{
    const struct flight_trigger trigger = {.reason = "test"};
    static struct flight_path path;
    char folder[] = "/tmp/miniprof-flight-XXXXXX", expected[32];
    struct mp_trace *trace;
    uint64_t gone;

    (void)state;
    assert_non_null(mkdtemp(folder));
    open_flight(folder);
    recorder.flight.virtual = true; /* its rows may be of any time */
    gone = put_kernels(recorder.flight.begin_time, 1000);
    assert_int_equal(mp_writer_flush(recorder.recording.writer), MP_OK);
    recorder.flight.ring.max = mp_chunk_ring_bytes(&recorder.flight.ring) + 1000;
    put_kernels(gone + 1000, 500);
    assert_int_equal(flight_trace_write(&recorder, &trigger, &path, NULL), MP_OK);
    assert_int_equal(mp_trace_open(path.text, &trace, NULL), MP_OK);
    snprintf(expected, sizeof(expected), "%llu", (unsigned long long)gone + 1);
    assert_string_equal(mp_trace_property(trace, "flight_from_ns"), expected);
    mp_trace_close(trace);
    unlink(path.text);
    assert_int_equal(rmdir(folder), 0);
    close_flight();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(chunks_of_names_may_take_half, open_recording,
                                        close_recording),
        cmocka_unit_test_setup_teardown(the_dictionary_may_take_as_much_as_all, open_recording,
                                        close_recording),
        cmocka_unit_test(a_file_of_before_an_exec_keeps_its_name),
        cmocka_unit_test(a_file_of_another_process_is_no_place_to_count_from),
        cmocka_unit_test(a_file_begins_where_memory_does),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
