/* The Perfetto export when memory runs out: every allocation fails once, in turn. What is left
 * behind, a sanitizer finds (make SAN=address check).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "export/format.h"
#include "unit/deps/deps_fixture.h"
#include "unit/failing_malloc.h"

static void put_everything(void)
{
    scene_begin();
    for (uint64_t i = 0; i < 4; i++) {
        uint64_t t = 1000 + i * 300;
        uint64_t id = 100 * (i + 1);

        put_nvtx_range("it", t, t + 250);
        put_call(1, "cudaMalloc", t + 1, t + 9, id);
        put_call(1, "cudaMemcpy", t + 10, t + 22, id + 1);
        put_copy_of(7, MP_copy_kind_HtoD, PAGEABLE, 100000, t + 12, t + 20, id + 1);
        put_launch(7, "a", t + 30, t + 36, t + 39, id + 2);
        put_launch(8, "b", t + 37, t + 44, t + 47, id + 3);
        put_stream_sync(7, t + 50, t + 58, id + 5);
        put_stream_sync(8, t + 70, t + 210, id + 7);
        mp_append_memory(scene.writer,
                         &(struct mp_row_memory){.operation = MP_memory_operation_allocate,
                                                 .kind = MP_memory_kind_device,
                                                 .bytes = 4096,
                                                 .address = 64 * (i + 1),
                                                 .time = t * 1000});
        mp_append_unified(scene.writer, &(struct mp_row_unified){.kind = MP_unified_kind_bytes_HtoD,
                                                                 .value = 4096,
                                                                 .start = (t + 100) * 1000,
                                                                 .duration = 9000});
    }
    scene_load();
}

static struct trace_process who;

static enum mp_status export_rows_of(void *state, const struct export_process *process,
                                     struct mp_error *error)
{
    struct export_row row;
    enum mp_status status;

    MP_TRY(export_perfetto.process(state, process, error));
    while ((status = export_rows_next(process->rows, &row)) == MP_OK)
        MP_TRY(export_perfetto.row(state, &row));
    return status == MP_END ? export_perfetto.process_end(state, error) : status;
}

/* The same to a file or a .zip, which `path` says. */
static enum mp_status export_to(const char *path, struct mp_error *error)
{
    const struct export_options options = {.style = NAMES_READABLE, .analyses = true};
    struct export_process process = {.trace = scene.trace, .who = &who, .count = 1};
    void *state = calloc(1, export_perfetto.state_bytes);
    FILE *out = fopen("/dev/null", "w+");
    enum mp_status status = MP_ERR_MEMORY;

    if (state && out)
        status = export_perfetto.begin(state, out, path, 1, error);
    if (status == MP_OK)
        status = export_rows_open(scene.trace, &options, &process.rows, error);
    /* The analyses may fail alone: then the rows come without them. */
    if (status == MP_OK && !export_rows_analyses(process.rows)->known)
        status = MP_ERR_MEMORY;
    if (status == MP_OK)
        status = export_rows_of(state, &process, error);
    if (status == MP_OK)
        status = export_perfetto.end(state, error);
    if (state)
        export_perfetto.release(state);
    export_rows_close(process.rows);
    free(state);
    if (out)
        fclose(out);
    return status == MP_OK ? MP_OK : mp_error_set(error, status, "%s", mp_status_name(status));
}

static enum mp_status export_to_file(struct mp_error *error)
{
    return export_to("a.pftrace", error);
}

static enum mp_status export_to_zip(struct mp_error *error)
{
    return export_to("a.zip", error);
}

static void every_allocation_can_fail(void **state)
{
    (void)state;
    put_everything();
    who = (struct trace_process){.path = "a.mpt", .label = "a", .host = "h", .pid = 1, .rank = 1};
    expect_memory_errors_of(export_to_file, 100);
    expect_memory_errors_of(export_to_zip, 100);
    scene_end(UNSOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_allocation_can_fail)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
