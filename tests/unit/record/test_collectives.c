/* NCCL's operations as they are put together: groups that nest, captures, threads that end, what is
 * never finished, and what comes out of order.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "record/names/dictionary.h"
#include "record/nccl/collectives.h"
#include "trace/schema.h"
#include "unit/trace_fixture.h"

#include "base/poison.h"

static const struct api_set api;

struct bench {
    struct dictionary dictionary;
    struct collectives collectives;
    struct mp_writer *writer;
    int fd;
    uint64_t now;
    uint64_t ids;
};

static const char nccl[] = "NCCL";

static void bench_open(struct bench *bench)
{
    memset(bench, 0, sizeof *bench);
    bench->fd = fixture_file(NULL, 0);
    bench->writer = fixture_writer(bench->fd, "", 0);
    assert_int_equal(dictionary_open(&bench->dictionary, bench->writer, &api), MP_OK);
    bench->collectives.dictionary = &bench->dictionary;
}

static void bench_close(struct bench *bench)
{
    collectives_close(&bench->collectives);
    dictionary_close(&bench->dictionary);
    close(bench->fd);
}

/* ---- Events ---- */

static void put(struct bench *bench, struct mp_nvtx_event event)
{
    event.tid = event.tid ? event.tid : 1;
    event.time = ++bench->now;
    collectives_take(&bench->collectives, &event);
}

static void push(struct bench *bench, const char *name)
{
    put(bench, (struct mp_nvtx_event){.kind = MP_nvtx_kind_push, .domain = nccl, .name = name});
}

static void pop(struct bench *bench)
{
    put(bench, (struct mp_nvtx_event){.kind = MP_nvtx_kind_pop, .domain = nccl});
}

static void range(struct bench *bench, const char *name)
{
    push(bench, name);
    pop(bench);
}

static uint64_t note_on(struct bench *bench, uint32_t tid, struct nccl_note note)
{
    if (!note.id)
        note.id = ++bench->ids;
    if (!note.ends && !*note.function)
        snprintf(note.function, sizeof note.function, "AllReduce");
    put(bench, (struct mp_nvtx_event){
                   .kind = MP_NVTX_NOTE, .blob = &note, .blob_bytes = sizeof note, .tid = tid});
    return note.id;
}

static uint64_t note(struct bench *bench, struct nccl_note note)
{
    return note_on(bench, 1, note);
}

static uint64_t begin(struct bench *bench, uint8_t kind, uint64_t parent)
{
    return note(bench, (struct nccl_note){.kind = kind, .parent = parent});
}

static void end(struct bench *bench, uint8_t kind, uint64_t id)
{
    note(bench, (struct nccl_note){.kind = kind, .id = id, .ends = true});
}

static uint64_t call(struct bench *bench, uint64_t group, bool captured)
{
    uint64_t id =
        note(bench,
             (struct nccl_note){.kind = NCCL_NOTE_COLL_API, .parent = group, .captured = captured});

    end(bench, NCCL_NOTE_COLL_API, id);
    return id;
}

static void launch(struct bench *bench, uint64_t correlation)
{
    uint64_t id = begin(bench, NCCL_NOTE_LAUNCH, 0);

    note(bench, (struct nccl_note){.kind = NCCL_NOTE_CORRELATION, .id = correlation});
    end(bench, NCCL_NOTE_LAUNCH, id);
}

/* ---- Communicators, as payloads of NCCL's ranges tell of them ---- */

enum { FIELDS = 4 };

static const struct mp_nvtx_schema *comm_schema(void)
{
    static const char *const names[FIELDS] = {"NCCL communicator ID", "CUDA device", "No. of ranks",
                                              "Rank"};
    static union {
        struct mp_nvtx_schema schema;
        char bytes[sizeof(struct mp_nvtx_schema) + FIELDS * sizeof(struct mp_nvtx_field)];
    } made;

    made.schema = (struct mp_nvtx_schema){
        .name = "", .domain = nccl, .extent = FIELDS * 8, .field_count = FIELDS};
    for (uint32_t i = 0; i < FIELDS; i++)
        made.schema.fields[i] = (struct mp_nvtx_field){
            .name = names[i], .offset = 8 * i, .bytes = 8, .type = MP_field_type_unsigned};
    return &made.schema;
}

/* The communicator's number. */
static uint32_t tell_of_comm(struct bench *bench, uint64_t hash, uint64_t device, uint64_t ranks,
                             uint64_t rank)
{
    const struct {
        struct mp_nvtx_payload payload;
        uint64_t values[FIELDS];
    } described = {{.schema = comm_schema(), .bytes = FIELDS * 8}, {hash, device, ranks, rank}};

    return comms_learn(&bench->collectives, comms_layout(&bench->collectives, comm_schema()),
                       &described.payload);
}

/* ---- Rows: "function/source/carrier/correlation", and how many there are ---- */

static char said[4096];
static uint64_t row_count;

static void take_rows(const struct mp_batch *batch)
{
#define CELL(column) (batch->columns[MP_COLUMN_collective_##column][row])
    for (uint32_t row = 0; row < batch->rows; row++, row_count++)
        if (row_count < 16)
            snprintf(said + strlen(said), sizeof said - strlen(said), "%s%u/%u/%u",
                     row_count ? " " : "", (unsigned)CELL(source), (unsigned)CELL(carrier),
                     (unsigned)CELL(correlation));
#undef CELL
}

static void take_comms(const struct mp_batch *batch)
{
#define CELL(column) (unsigned)(batch->columns[MP_COLUMN_communicator_##column][row])
    for (uint32_t row = 0; row < batch->rows; row++)
        snprintf(said + strlen(said), sizeof said - strlen(said), "%s%u: %x %u of %u on %u",
                 *said ? "; " : "", CELL(id), CELL(hash), CELL(rank), CELL(ranks), CELL(device));
#undef CELL
}

static const char *rows_of(struct bench *bench, unsigned table,
                           void (*take)(const struct mp_batch *batch))
{
    struct mp_trace *trace;
    struct mp_cursor *cursor;
    struct mp_batch batch;

    collectives_settle(&bench->collectives);
    assert_int_equal(mp_writer_close(bench->writer, NULL), MP_OK);
    said[0] = '\0';
    row_count = 0;
    assert_int_equal(mp_trace_open(fixture_path(bench->fd), &trace, NULL), MP_OK);
    assert_int_equal(mp_cursor_open(trace, &cursor, NULL), MP_OK);
    while (mp_cursor_next(cursor, &batch) == MP_OK)
        if (batch.table->id == table)
            take(&batch);
    mp_cursor_close(cursor);
    mp_trace_close(trace);
    return said;
}

static const char *rows(struct bench *bench)
{
    return rows_of(bench, MP_TABLE_collective, take_rows);
}

/* ---- Tests ---- */

static void a_range_and_the_plugins_call_in_it_are_one(void **state)
{
    struct bench bench;
    uint64_t id;

    (void)state;
    bench_open(&bench);
    push(&bench, "ncclAllReduce");
    id = call(&bench, 0, false);
    launch(&bench, 77);
    begin(&bench, NCCL_NOTE_COLL, id);
    pop(&bench);
    assert_string_equal(rows(&bench), "3/1/77");
    bench_close(&bench);
}

static void two_launches_of_a_group_are_told_apart(void **state)
{
    struct bench bench;
    uint64_t group, one, two;

    (void)state;
    bench_open(&bench);
    group = begin(&bench, NCCL_NOTE_GROUP_API, 0);
    one = call(&bench, group, false);
    two = call(&bench, group, false);
    launch(&bench, 5);
    begin(&bench, NCCL_NOTE_COLL, two);
    launch(&bench, 6);
    begin(&bench, NCCL_NOTE_COLL, one);
    end(&bench, NCCL_NOTE_GROUP_API, group);
    assert_string_equal(rows(&bench), "3/1/5 3/2/6");
    bench_close(&bench);
}

/* Nothing tells which of two launches a captured one is in, so no carrier is given. */
static void a_captured_group_of_two_launches_is_not_guessed(void **state)
{
    struct bench bench;
    uint64_t group;

    (void)state;
    for (int launches = 1; launches <= 2; launches++) {
        bench_open(&bench);
        bench.collectives.comm_count = 0;
        group = begin(&bench, NCCL_NOTE_GROUP_API, 0);
        call(&bench, group, true);
        for (int i = 0; i < launches; i++)
            launch(&bench, 5);
        end(&bench, NCCL_NOTE_GROUP_API, group);
        assert_string_equal(rows(&bench), "3/0/0"); /* nor is the communicator known */
        bench_close(&bench);
    }
}

/* It may come before the launch that it is about. */
static void a_host_function_may_be_early(void **state)
{
    const uint32_t driver = 9;
    struct bench bench;
    uint64_t group, id;

    (void)state;
    bench_open(&bench);
    assert_int_equal(comms_by_hash(&bench.collectives, 7), 1);
    assert_int_equal(mp_map_put(&bench.collectives.by_plugin, 0, 0), MP_OK);
    group = begin(&bench, NCCL_NOTE_GROUP_API, 0);
    id = call(&bench, group, false);
    note_on(&bench, driver, (struct nccl_note){.kind = NCCL_NOTE_COLL, .parent = id});
    launch(&bench, 6);
    end(&bench, NCCL_NOTE_GROUP_API, group);
    assert_string_equal(rows(&bench), "3/1/6");
    bench_close(&bench);
}

/* With graphs, NCCL's host function tells of what kernels carry, on a thread of the driver: of
 * calls that are pending, and of replays, which are not. */
static void what_a_host_function_tells_is_of_the_call(void **state)
{
    const uint32_t driver = 9;
    struct bench bench;
    uint64_t group, eager, captured;

    (void)state;
    bench_open(&bench);
    assert_int_equal(comms_by_hash(&bench.collectives, 7), 1);
    assert_int_equal(mp_map_put(&bench.collectives.by_plugin, 0, 0), MP_OK);
    group = begin(&bench, NCCL_NOTE_GROUP_API, 0);
    captured = call(&bench, group, true);
    launch(&bench, 5);
    end(&bench, NCCL_NOTE_GROUP_API, group);
    group = begin(&bench, NCCL_NOTE_GROUP_API, 0);
    eager = call(&bench, group, false);
    launch(&bench, 6);
    end(&bench, NCCL_NOTE_GROUP_API, group);
    for (int replay = 0; replay < 3; replay++) {
        put(&bench, (struct mp_nvtx_event){.kind = MP_nvtx_kind_push,
                                           .domain = nccl,
                                           .name = "hostStreamPlanCallback",
                                           .tid = driver});
        note_on(&bench, driver, (struct nccl_note){.kind = NCCL_NOTE_COLL, .parent = captured});
        if (replay == 1)
            note_on(&bench, driver,
                    (struct nccl_note){.kind = NCCL_NOTE_COLL, .parent = eager, .channels = 2});
        put(&bench,
            (struct mp_nvtx_event){.kind = MP_nvtx_kind_pop, .domain = nccl, .tid = driver});
    }
    assert_int_equal(bench.collectives.threads[0].first, 0);
    assert_string_equal(rows(&bench), "3/1/0 3/2/6");
    bench_close(&bench);
}

static void names_in_nested_groups_wait_for_the_outermost_end(void **state)
{
    struct bench bench;

    (void)state;
    bench_open(&bench);
    range(&bench, "ncclGroupStart");
    range(&bench, "ncclGroupStart");
    range(&bench, "ncclSend");
    range(&bench, "ncclGroupEnd");
    range(&bench, "ncclRecv");
    assert_int_equal(bench.collectives.threads[0].groups, 1);
    range(&bench, "ncclGroupEnd");
    assert_int_equal(bench.collectives.threads[0].first, 0);
    range(&bench, "ncclGroupEnd"); /* one too many */
    pop(&bench);
    range(&bench, "ncclCommCount"); /* enqueues nothing */
    assert_string_equal(rows(&bench), "1/0/0 1/0/0");
    bench_close(&bench);
}

static void a_node_made_inside_of_a_call_is_its_own(void **state)
{
    struct bench bench;

    (void)state;
    bench_open(&bench);
    push(&bench, "ncclAllReduce");
    put(&bench, (struct mp_nvtx_event){.kind = MP_NVTX_ORIGIN, .range = 40});
    put(&bench, (struct mp_nvtx_event){.kind = MP_NVTX_ORIGIN, .range = 41});
    pop(&bench);
    put(&bench, (struct mp_nvtx_event){.kind = MP_NVTX_ORIGIN, .range = 42});
    assert_int_equal(collectives_carrier(&bench.collectives, 40), 1);
    assert_int_equal(collectives_carrier(&bench.collectives, 41), 1);
    assert_int_equal(collectives_carrier(&bench.collectives, 42), 0);
    assert_string_equal(rows(&bench), "1/1/0");
    bench_close(&bench);
}

/* Calls that NCCL never carries make room, and none is missing. */
static void calls_that_are_never_carried_are_written(void **state)
{
    struct bench bench;

    (void)state;
    bench_open(&bench);
    for (unsigned i = 0; i < 3 * OPS_MAX; i++)
        call(&bench, 0, false);
    assert_int_equal(bench.collectives.lost, 0);
    rows(&bench);
    assert_int_equal(row_count, 3 * OPS_MAX);
    bench_close(&bench);
}

static void open_ranges_beyond_all_depth_are_harmless(void **state)
{
    struct bench bench;

    (void)state;
    bench_open(&bench);
    for (unsigned i = 0; i < 2 * OPS_MAX; i++)
        push(&bench, "ncclAllReduce");
    for (unsigned i = 0; i < 3 * OPS_MAX; i++)
        pop(&bench);
    rows(&bench);
    assert_int_equal(row_count, OPS_NESTED);
    bench_close(&bench);
}

/* After a gap an open range is over; a thread that has ended leaves what it began. */
static void gaps_and_threads_that_end_leave_nothing_behind(void **state)
{
    struct bench bench;

    (void)state;
    bench_open(&bench);
    push(&bench, "ncclAllReduce");
    put(&bench,
        (struct mp_nvtx_event){
            .kind = MP_nvtx_kind_push, .domain = nccl, .name = "ncclReduce", .first = true});
    assert_int_equal(bench.collectives.threads[0].depth, 1);
    collectives_end_thread(&bench.collectives, 1);
    collectives_end_thread(&bench.collectives, 1);
    assert_int_equal(bench.collectives.threads[0].tid, 0);
    for (uint32_t tid = 2; tid < 2 * OPS_THREADS; tid++)
        put(&bench, (struct mp_nvtx_event){
                        .kind = MP_nvtx_kind_push, .domain = nccl, .name = "ncclSend", .tid = tid});
    assert_true(bench.collectives.lost > 0);
    rows(&bench);
    assert_int_equal(row_count, 2 + OPS_THREADS);
    bench_close(&bench);
}

/* It is defined anew where more is known, and only there. */
static void payloads_tell_of_communicators(void **state)
{
    struct bench bench;
    uint32_t one, other;

    (void)state;
    bench_open(&bench);
    one = tell_of_comm(&bench, 0xabc, 2, 4, 1);
    other = tell_of_comm(&bench, 0xdef, 3, 8, 7);
    assert_true(one && other && one != other);
    assert_int_equal(comms_define(&bench.collectives, one), 1);
    assert_int_equal(comms_define(&bench.collectives, other), 2);
    assert_int_equal(tell_of_comm(&bench, 0xabc, 2, 4, 1), one);
    assert_int_equal(tell_of_comm(&bench, 0xabc, 2, 5, 1), one);
    assert_int_equal(tell_of_comm(&bench, 0, 2, 4, 1), 0);
    assert_string_equal(rows_of(&bench, MP_TABLE_communicator, take_comms),
                        "1: abc 1 of 4 on 2; 2: def 7 of 8 on 3; 1: abc 1 of 5 on 2");
    bench_close(&bench);
}

static void notes_of_nothing_known_are_ignored(void **state)
{
    struct bench bench;
    char large[sizeof(struct nccl_note) + 1] = {1};

    (void)state;
    bench_open(&bench);
    end(&bench, NCCL_NOTE_COLL_API, 12345);
    end(&bench, NCCL_NOTE_GROUP_API, 12345);
    end(&bench, NCCL_NOTE_LAUNCH, 12345);
    note(&bench, (struct nccl_note){.kind = 99});
    note(&bench, (struct nccl_note){.kind = NCCL_NOTE_CORRELATION, .id = 1});
    put(&bench,
        (struct mp_nvtx_event){.kind = MP_NVTX_NOTE, .blob = large, .blob_bytes = sizeof large});
    put(&bench, (struct mp_nvtx_event){.kind = MP_NVTX_ORIGIN, .range = 1, .tid = 99});
    assert_string_equal(rows(&bench), "");
    bench_close(&bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_range_and_the_plugins_call_in_it_are_one),
        cmocka_unit_test(two_launches_of_a_group_are_told_apart),
        cmocka_unit_test(a_captured_group_of_two_launches_is_not_guessed),
        cmocka_unit_test(what_a_host_function_tells_is_of_the_call),
        cmocka_unit_test(a_host_function_may_be_early),
        cmocka_unit_test(names_in_nested_groups_wait_for_the_outermost_end),
        cmocka_unit_test(a_node_made_inside_of_a_call_is_its_own),
        cmocka_unit_test(calls_that_are_never_carried_are_written),
        cmocka_unit_test(open_ranges_beyond_all_depth_are_harmless),
        cmocka_unit_test(gaps_and_threads_that_end_leave_nothing_behind),
        cmocka_unit_test(payloads_tell_of_communicators),
        cmocka_unit_test(notes_of_nothing_known_are_ignored),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
