/* host_rows.h, origins.h: in which launch of which graph a host function ran. Threads hand their
 * news over in any order; what happened is known, as a world of our own made it happen. And records
 * of host functions that are not what the documentation says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/preload.h"
#include "record/process/recorder.h"
#include "record/rows/host_rows.h"
#include "unit/trace_fixture.h"

#define ROOTS  3u /* nodes that the program made, all in one graph */
#define GRAPHS 3u /* executable graphs that were made of it */
#define MAX    4000u

static struct recorder recorder;
static struct recording recording;
static struct mp_preload_host_function launching;
static int fd;

/* A node's handle is its id. */
static CUptiResult get_node_id(CUgraphNode node, uint64_t *id)
{
    *id = (uintptr_t)node;
    return CUPTI_SUCCESS;
}

static struct mp_preload_host_function *get_launching(void)
{
    return &launching;
}

static uint64_t node_id(uint32_t graph, uint32_t number)
{
    return (uint64_t)graph << 32 | number;
}

static CUgraphNode handle(uint64_t id)
{
    return (CUgraphNode)(uintptr_t)id;
}

static void make_node(uint64_t id)
{
    host_nodes_created(&recorder.graphs, &recorder.gpu,
                       &(CUpti_GraphData){.node = handle(id), .nodeType = CU_GRAPH_NODE_TYPE_HOST});
}

static void clone_node(uint64_t from, uint64_t to, CUgraphNodeType type)
{
    host_nodes_cloned(
        &recorder.graphs, &recorder.gpu,
        &(CUpti_GraphData){.node = handle(to), .originalNode = handle(from), .nodeType = type});
}

static bool is_written; /* the trace, as far as the test needs it */

static void set_up(void)
{
    static struct mp_preload preload = {.launching = get_launching};

    memset(&recorder, 0, sizeof(recorder));
    memset(&recording, 0, sizeof(recording));
    is_written = false;
    assert_int_equal(call_logs_open(&recorder.gpu.core.logs), MP_OK);
    recorder.gpu.host_functions.preload = &preload;
    recorder.gpu.core.wanted.edges = true;
    recorder.gpu.cupti.get_graph_node_id = get_node_id;
    host_nodes_open(&recorder.graphs.host_nodes);
    edges_open(&recorder.graphs.edges);
    fd = fixture_file(NULL, 0);
    recording.profiled = &recorder.profiling.profiled;
    recording.edges = &recorder.graphs.edges;
    recording.gpu = &recorder.gpu;
    recording.stacks = &recorder.stacks;
    recording.host_nodes = &recorder.graphs.host_nodes;
    recording.step_names = recorder.baseline.names;
    assert_int_equal(recording_open(&recording, fixture_writer(fd, "", 0), &recorder.gpu.cupti,
                                    &recorder.gpu.api, MP_CAPTURE_ALL, true),
                     MP_OK);
}

/* The rows of `host_function`, in the order of the file. */
struct row {
    uint64_t start, correlation, node;
};

static struct row found[HOST_ROWS_RUNS + MAX];
static unsigned found_count;

static void finish_writing(void)
{
    if (!is_written)
        assert_int_equal(mp_writer_close(recording.writer, NULL), MP_OK);
    is_written = true;
}

static void read_rows(void)
{
    struct mp_trace *trace;
    struct mp_cursor *cursor;
    struct mp_batch batch;

    finish_writing();
    found_count = 0;
    assert_int_equal(mp_trace_open(fixture_path(fd), &trace, NULL), MP_OK);
    assert_int_equal(mp_cursor_open(trace, &cursor, NULL), MP_OK);
    while (mp_cursor_next(cursor, &batch) == MP_OK)
        for (uint32_t i = 0; batch.table->id == MP_TABLE_host_function && i < batch.rows; i++)
            found[found_count++] =
                (struct row){batch.columns[MP_COLUMN_host_function_start][i],
                             batch.columns[MP_COLUMN_host_function_correlation][i],
                             batch.columns[MP_COLUMN_host_function_node][i]};
    mp_cursor_close(cursor);
    mp_trace_close(trace);
}

static void tear_down(void)
{
    finish_writing();
    recording_close(&recording);
    mp_map_free(&recorder.graphs.host_nodes.places);
    free(recorder.graphs.host_nodes.nodes);
    close(fd);
}

/* ---- The world ---- */

/* News on their way to the writer. */
struct news {
    struct call_entry entry;
    unsigned round; /* in which the writer gets them */
};

static struct news news[2 * MAX];
static unsigned news_count;
static uint64_t truth[MAX]; /* correlation ids of the runs, by start / 10 */
static unsigned run_count;

struct world {
    uint64_t seed;
    uint32_t graphs, roots;
    bool apart;    /* each graph has nodes of its own, so any order is told apart */
    uint64_t time; /* rises by 10 with each event */
    unsigned round;
    uint32_t correlation;
    struct launch {
        uint32_t graph, correlation, ran;
    } queue[MAX]; /* launches whose functions have not all run */
    unsigned queued;
};

static uint32_t root_of(const struct world *world, uint32_t graph, uint32_t node)
{
    return world->apart ? graph * 10 + node : node;
}

static void make_graphs(const struct world *world)
{
    for (uint32_t graph = 0; graph < world->graphs; graph++)
        for (uint32_t node = 1; node <= world->roots; node++) {
            uint64_t root = node_id(1, root_of(world, graph, node));

            if (world->apart || graph == 0)
                make_node(root);
        }
    for (uint32_t graph = 0; graph < world->graphs; graph++) {
        struct call_log *log = call_log_mine(&recorder.gpu.core.logs);

        log->making = (struct graph_making *)&recorder; /* it only must not be NULL */
        for (uint32_t node = 1; node <= world->roots; node++)
            clone_node(node_id(1, root_of(world, graph, node)), node_id(100 + graph, node),
                       CU_GRAPH_NODE_TYPE_HOST);
        clone_node(node_id(1, 99), node_id(100 + graph, 99), CU_GRAPH_NODE_TYPE_KERNEL);
        host_nodes_instantiated(&recorder.graphs, &recorder.gpu);
        log->making = NULL;
    }
}

static void tell(struct world *world, const struct call_entry *entry, unsigned delay)
{
    news[news_count++] = (struct news){*entry, world->round + delay};
}

static void launch(struct world *world)
{
    uint32_t graph = (uint32_t)(fixture_random(&world->seed) % world->graphs);
    struct call_entry entry = {.kind = CALL_ENTRY_GRAPH_LAUNCH,
                               .start = world->time,
                               .end = world->time + 5,
                               .event = 100 + graph,
                               .correlation = ++world->correlation,
                               .context = 1,
                               .stream = 7};

    world->queue[world->queued++] = (struct launch){graph, world->correlation, 0};
    tell(world, &entry, (unsigned)(fixture_random(&world->seed) % 2));
}

/* The next function of a launch that is the first of its graph in the queue. */
static void run(struct world *world)
{
    unsigned at = world->apart ? (unsigned)(fixture_random(&world->seed) % world->queued) : 0;
    struct launch *chosen;
    struct call_entry entry = {
        .kind = CALL_ENTRY_HOST_NODE, .start = world->time, .end = world->time + 5};
    uint64_t root;

    for (unsigned i = 0; i < at; i++)
        if (world->queue[i].graph == world->queue[at].graph)
            at = i;
    chosen = &world->queue[at];
    root = node_id(1, root_of(world, chosen->graph, ++chosen->ran));
    entry.context = (uint32_t)(root >> 32);
    entry.stream = (uint32_t)root;
    truth[world->time / 10] = chosen->correlation;
    run_count++;
    tell(world, &entry, 0);
    if (chosen->ran < world->roots)
        return;
    world->queued--;
    memmove(chosen, chosen + 1, (world->queued - at) * sizeof(*chosen));
}

/* The writer's rounds: news of a thread come in its order. */
static void deliver(unsigned rounds)
{
    for (unsigned round = 0; round <= rounds; round++) {
        for (unsigned i = 0; i < news_count; i++)
            if (news[i].round == round)
                host_rows_take(&recording, 1, &news[i].entry);
        host_rows_settle(&recording, false);
    }
    host_rows_settle(&recording, true);
}

static void live(struct world *world)
{
    news_count = run_count = 0;
    make_graphs(world);
    for (unsigned i = 1; i < MAX / 2; i++) {
        world->time = UINT64_C(10) * i;
        world->round += fixture_random(&world->seed) % 8 == 0;
        if (!world->queued || (world->queued < 20 && fixture_random(&world->seed) % 3 == 0))
            launch(world);
        else
            run(world);
    }
    deliver(world->round + 4);
    read_rows();
    assert_int_equal(found_count, run_count);
    for (unsigned i = 0; i < found_count; i++)
        assert_int_equal(found[i].correlation, truth[found[i].start / 10]);
}

static void each_run_belongs_to_its_launch(void **state)
{
    static struct world world;

    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        set_up();
        world = (struct world){.seed = seed, .graphs = GRAPHS, .roots = ROOTS};
        live(&world);
        tear_down();
        set_up();
        world = (struct world){.seed = seed, .graphs = GRAPHS, .roots = ROOTS, .apart = true};
        live(&world);
        tear_down();
    }
}

/* ---- What the preloaded library tells ---- */

static struct mp_preload library;

static void take_entry(void *context, uint32_t tid, const struct call_entry *entry)
{
    (void)tid;
    *(struct call_entry *)context = *entry;
}

/* What the writer gets of a host function that has run. */
static struct call_entry told(const struct mp_preload_host_function *function)
{
    struct call_entry entry = {.kind = UINT8_MAX};

    library.host_function(function);
    call_logs_drain(&mp_recorder->gpu.core.logs, take_entry, &entry);
    return entry;
}

static void host_functions_are_told_by_call_or_by_node(void **state)
{
    struct call_entry entry;

    (void)state;
    assert_int_equal(call_logs_open(&mp_recorder->gpu.core.logs), MP_OK);
    atomic_store(&mp_recorder->gpu.core.phase, PHASE_RECORDING);
    mp_recorder->gpu.host_functions.preload = &library;
    host_functions_go(&mp_recorder->gpu);
    entry = told(&(struct mp_preload_host_function){
        .begin = 10, .end = 15, .function = 0x4000, .correlation = 3, .context = 1, .stream = 7});
    assert_int_equal(entry.kind, CALL_ENTRY_HOST_FUNCTION);
    assert_int_equal(entry.start, 10);
    assert_int_equal(entry.end, 15);
    assert_int_equal(entry.event, 0x4000);
    assert_int_equal(entry.correlation, 3);
    assert_int_equal(entry.context, 1);
    assert_int_equal(entry.stream, 7);
    entry = told(&(struct mp_preload_host_function){.begin = 20, .node = node_id(2, 5)});
    assert_int_equal(entry.kind, CALL_ENTRY_HOST_NODE);
    assert_int_equal(entry.correlation, 0);
    assert_int_equal(entry.context, 2);
    assert_int_equal(entry.stream, 5);
    /* Launched while nothing was recorded; or ending when nothing is. */
    entry = told(&(struct mp_preload_host_function){.begin = 30, .context = 1, .stream = 7});
    assert_int_equal(entry.kind, UINT8_MAX);
    atomic_store(&mp_recorder->gpu.core.phase, PHASE_INERT);
    entry = told(&(struct mp_preload_host_function){.begin = 40, .correlation = 4});
    assert_int_equal(entry.kind, UINT8_MAX);
}

/* ---- What is not as it should be ---- */

static const struct call_entry lone_run = {
    .kind = CALL_ENTRY_HOST_NODE, .start = 1000, .end = 1005, .context = 1, .stream = 5};

static void a_run_without_a_launch_names_the_newest_node(void **state)
{
    struct call_log *log;

    (void)state;
    set_up();
    log = call_log_mine(&recorder.gpu.core.logs);
    make_node(node_id(1, 5));
    log->making = (struct graph_making *)&recorder;
    clone_node(node_id(1, 5), node_id(2, 5), CU_GRAPH_NODE_TYPE_HOST);
    clone_node(node_id(1, 5), node_id(3, 5), CU_GRAPH_NODE_TYPE_HOST);
    log->making = NULL;
    host_rows_take(&recording, 1, &lone_run);
    recording.host_rows.runs[0].until_ms = INT64_MAX;
    for (int round = 0; round < 3; round++) {
        host_rows_settle(&recording, false);
        assert_int_equal(recording.host_rows.run_count, 1);
    }
    host_rows_settle(&recording, false); /* the launching thread may still have to tell of it */
    assert_int_equal(recording.host_rows.run_count, 1);
    recording.host_rows.runs[0].until_ms = 0;
    host_rows_settle(&recording, false);
    assert_int_equal(recording.host_rows.run_count, 0);
    read_rows();
    assert_int_equal(found_count, 1);
    assert_int_equal(found[0].correlation, 0);
    assert_int_equal(found[0].node, 1);
    tear_down();
}

static void runs_whose_launches_are_known_wait_for_one_round(void **state)
{
    struct world world = {.graphs = 1, .roots = 1};
    struct call_entry entry = {
        .kind = CALL_ENTRY_GRAPH_LAUNCH, .event = 100, .context = 1, .stream = 7};
    struct call_entry run = {.kind = CALL_ENTRY_HOST_NODE, .context = 1, .stream = 1};

    (void)state;
    set_up();
    make_graphs(&world);
    for (uint32_t i = 1; i <= 10; i++) {
        entry.correlation = i;
        entry.start = UINT64_C(100) * i;
        run.start = 100 * i + 50;
        run.end = run.start + 5;
        host_rows_take(&recording, 1, &entry);
        host_rows_take(&recording, 1, &run);
    }
    host_rows_settle(&recording, false);
    assert_int_equal(recording.host_rows.run_count, 10);
    host_rows_settle(&recording, false);
    assert_int_equal(recording.host_rows.run_count, 0);
    assert_int_equal(recording.host_rows.launch_count, 0);
    tear_down();
}

/* How many nodes were made of `root`. */
static uint32_t clones(uint64_t root)
{
    struct host_clones found_clones = {.root = root};

    host_nodes_find(&recorder.graphs.host_nodes, &found_clones);
    return found_clones.count;
}

static void instantiate_one(uint64_t from, uint64_t to)
{
    struct call_log *log = call_log_mine(&recorder.gpu.core.logs);

    log->making = (struct graph_making *)&recorder;
    clone_node(from, to, CU_GRAPH_NODE_TYPE_HOST);
    host_nodes_instantiated(&recorder.graphs, &recorder.gpu);
    log->making = NULL;
}

/* The oldest is gone when there are too many; a handle stands for the node that has it now. */
static void as_many_nodes_as_there_is_room_for(void **state)
{
    (void)state;
    set_up();
    for (uint32_t i = 1; i <= HOST_NODES_MAX; i++)
        make_node(node_id(1, i));
    instantiate_one(node_id(1, 1), node_id(2, 1)); /* takes the first one's room */
    instantiate_one(node_id(1, 1), node_id(3, 1));
    assert_int_equal(clones(node_id(1, 1)), 1);
    instantiate_one(node_id(1, HOST_NODES_MAX), node_id(4, 1));
    assert_int_equal(clones(node_id(1, HOST_NODES_MAX)), 1);
    make_node(node_id(1, HOST_NODES_MAX - 1));
    instantiate_one(node_id(1, HOST_NODES_MAX - 1), node_id(5, 1));
    assert_int_equal(clones(node_id(1, HOST_NODES_MAX - 1)), 1);
    tear_down();
}

/* Nodes of other kinds, with all the room taken: looking through it takes 8,192 times as long. */
static void other_nodes_cost_little(void **state)
{
    const uint32_t count = 200000;
    clock_t begin;

    (void)state;
    set_up();
    for (uint32_t i = 1; i <= HOST_NODES_MAX; i++)
        make_node(node_id(1, i));
    begin = clock();
    for (uint32_t i = 1; i <= count; i++)
        clone_node(node_id(6, i), node_id(7, i), CU_GRAPH_NODE_TYPE_KERNEL);
    assert_true(clock() - begin < CLOCKS_PER_SEC / 2);
    tear_down();
}

static void take_one(enum call_entry_kind kind, uint64_t start, uint32_t correlation)
{
    struct call_entry entry = {.kind = kind, .start = start, .end = start + 5, .context = 1};

    entry.event = kind == CALL_ENTRY_GRAPH_LAUNCH ? 100 : 0;
    entry.stream = 1;
    entry.correlation = correlation;
    host_rows_take(&recording, 1, &entry);
}

/* The first launch is told when nobody waits for it any more. */
static void a_launch_that_comes_too_late_is_not_the_next_ones(void **state)
{
    const struct world world = {.graphs = 1, .roots = 1};

    (void)state;
    set_up();
    make_graphs(&world);
    take_one(CALL_ENTRY_HOST_NODE, 110, 0);
    host_rows_settle(&recording, true);
    take_one(CALL_ENTRY_GRAPH_LAUNCH, 100, 1);
    for (uint32_t i = 2; i <= 5; i++) {
        take_one(CALL_ENTRY_GRAPH_LAUNCH, UINT64_C(100) * i, i);
        take_one(CALL_ENTRY_HOST_NODE, 100 * i + 10, 0);
    }
    host_rows_settle(&recording, true);
    assert_int_equal(recording.host_rows.launch_count, 0);
    read_rows();
    assert_int_equal(found_count, 5);
    assert_int_equal(found[0].correlation, 0);
    for (unsigned i = 1; i < 5; i++)
        assert_int_equal(found[i].correlation, i + 1);
    tear_down();
}

/* More launches ahead than there is room for. */
static void a_run_of_a_forgotten_launch_takes_no_other(void **state)
{
    const struct world world = {.graphs = 1, .roots = 1};
    const uint32_t more = 3;

    (void)state;
    set_up();
    make_graphs(&world);
    for (uint32_t i = 1; i <= HOST_ROWS_LAUNCHES + more; i++)
        take_one(CALL_ENTRY_GRAPH_LAUNCH, i, i);
    for (uint32_t i = 1; i <= HOST_ROWS_LAUNCHES + more; i++)
        take_one(CALL_ENTRY_HOST_NODE, 10000 + i, 0);
    host_rows_settle(&recording, true);
    assert_int_equal(recording.host_rows.launch_count, 0);
    assert_int_equal(recording.host_rows.forgotten, more);
    read_rows();
    assert_int_equal(found_count, HOST_ROWS_LAUNCHES + more);
    for (uint32_t i = 1; i <= found_count; i++)
        assert_int_equal(found[i - 1].correlation, i <= more ? 0 : i);
    tear_down();
}

/* Late launches find the runs that missed them, as far as these are remembered. */
static void what_was_missed_is_bounded(void **state)
{
    const struct world world = {.graphs = 1, .roots = 1};

    (void)state;
    set_up();
    make_graphs(&world);
    for (uint32_t i = 1; i <= HOST_ROWS_MISSED + 1; i++)
        take_one(CALL_ENTRY_HOST_NODE, 100 * i + 10, 0);
    host_rows_settle(&recording, true);
    assert_int_equal(recording.host_rows.missed_count, HOST_ROWS_MISSED);
    for (uint32_t i = 2; i <= HOST_ROWS_MISSED + 1; i++)
        take_one(CALL_ENTRY_GRAPH_LAUNCH, UINT64_C(100) * i, i);
    assert_int_equal(recording.host_rows.missed_count, 0);
    assert_int_equal(recording.host_rows.launch_count, 0);
    tear_down();
}

static void a_run_of_an_unknown_node_has_a_row(void **state)
{
    (void)state;
    set_up();
    host_rows_take(&recording, 1, &lone_run);
    host_rows_settle(&recording, true);
    read_rows();
    assert_int_equal(found_count, 1);
    assert_int_equal(found[0].node, 0);
    tear_down();
}

/* As after cuGraphExecUpdate: the function's node was not cloned. Others are not held up. */
static void a_run_of_a_node_without_clones_does_not_wait(void **state)
{
    const struct world world = {.graphs = 1, .roots = 1};
    struct call_entry updated = lone_run;

    (void)state;
    set_up();
    make_graphs(&world);
    make_node(node_id(5, 1));
    updated.context = 5;
    updated.stream = 1;
    updated.start = 50;
    updated.end = 55;
    host_rows_take(&recording, 1, &updated);
    take_one(CALL_ENTRY_GRAPH_LAUNCH, 100, 1);
    take_one(CALL_ENTRY_HOST_NODE, 110, 0);
    host_rows_settle(&recording, false);
    host_rows_settle(&recording, false);
    assert_int_equal(recording.host_rows.run_count, 0);
    assert_int_equal(recording.host_rows.missed_count, 0);
    read_rows();
    assert_int_equal(found_count, 2);
    assert_int_equal(found[0].correlation, 0);
    assert_int_equal(found[0].node, 0);
    assert_int_equal(found[1].correlation, 1);
    tear_down();
}

static void what_waits_is_bounded(void **state)
{
    struct call_entry entry = {.kind = CALL_ENTRY_GRAPH_LAUNCH, .event = 2};
    struct call_log *log;

    (void)state;
    set_up();
    log = call_log_mine(&recorder.gpu.core.logs);
    make_node(node_id(1, 5));
    log->making = (struct graph_making *)&recorder;
    clone_node(node_id(1, 5), node_id(2, 5), CU_GRAPH_NODE_TYPE_HOST);
    log->making = NULL;
    for (uint32_t i = 1; i <= 2 * HOST_ROWS_LAUNCHES; i++) {
        entry.correlation = i;
        entry.start = 10000 + i; /* later than all runs */
        host_rows_take(&recording, 1, &entry);
    }
    assert_int_equal(recording.host_rows.launch_count, HOST_ROWS_LAUNCHES);
    for (unsigned i = 0; i < HOST_ROWS_RUNS + 1; i++)
        host_rows_take(&recording, 1, &lone_run);
    assert_int_equal(recording.host_rows.run_count, 1);
    for (uint32_t i = 1; i <= 2 * HOST_NODES_MAX; i++)
        make_node(node_id(4, i));
    host_rows_settle(&recording, true); /* the clone is forgotten */
    read_rows();
    assert_int_equal(found_count, HOST_ROWS_RUNS + 1);
    tear_down();
}

/* ---- CUPTI's own records ---- */

static CUptiResult one_record(uint8_t *buffer, size_t bytes, CUpti_Activity **record)
{
    (void)bytes;
    if (*record)
        return CUPTI_ERROR_MAX_LIMIT_REACHED;
    *record = (CUpti_Activity *)(void *)buffer;
    return CUPTI_SUCCESS;
}

static void records_are_believed_if_they_are_plausible(void **state)
{
    const struct record_host_launch good = {.kind = MP_CUPTI_KIND_HOST_LAUNCH,
                                            .stream = 7,
                                            .context = 1,
                                            .correlation = 3,
                                            .process = (uint32_t)getpid(),
                                            .thread = 42,
                                            .start = 2000,
                                            .end = 2000};
    struct record_host_node node = {.kind = MP_CUPTI_KIND_GRAPH_HOST_NODE,
                                    .correlation = 4,
                                    .graph = 2,
                                    .graph_node = node_id(2, 1),
                                    .process = (uint32_t)getpid(),
                                    .thread = 42,
                                    .start = 3000,
                                    .end = 3010};
    struct record_host_launch bad[5] = {good, good, good, good, good}, believed = good;

    (void)state;
    set_up();
    recorder.gpu.cupti.next_record = one_record;
    bad[0].process++;
    bad[1].thread = 0;
    bad[2].correlation = 0;
    bad[3].end--;
    bad[4].start = 0;
    for (unsigned i = 0; i < 5; i++)
        decode_buffer(&recording.decoder, (uint8_t *)&bad[i], sizeof(bad[i]));
    assert_int_equal(recording.decoder.counts.unknown, 5);
    decode_buffer(&recording.decoder, (uint8_t *)&believed, sizeof(good));
    decode_buffer(&recording.decoder, (uint8_t *)&node, sizeof(node));
    recording.decoder.process = -1; /* a sandbox denies getpid, and there is no /proc */
    node.process++;
    decode_buffer(&recording.decoder, (uint8_t *)&node, sizeof(node));
    assert_int_equal(recording.decoder.counts.unknown, 5);
    read_rows();
    assert_int_equal(found_count, 3);
    assert_int_equal(found[0].correlation, 3);
    assert_int_equal(found[1].correlation, 4);
    assert_int_equal(found[1].node, 1);
    tear_down();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_run_belongs_to_its_launch),
        cmocka_unit_test(host_functions_are_told_by_call_or_by_node),
        cmocka_unit_test(a_run_without_a_launch_names_the_newest_node),
        cmocka_unit_test(runs_whose_launches_are_known_wait_for_one_round),
        cmocka_unit_test(a_launch_that_comes_too_late_is_not_the_next_ones),
        cmocka_unit_test(a_run_of_a_forgotten_launch_takes_no_other),
        cmocka_unit_test(what_was_missed_is_bounded),
        cmocka_unit_test(as_many_nodes_as_there_is_room_for),
        cmocka_unit_test(other_nodes_cost_little),
        cmocka_unit_test(a_run_of_an_unknown_node_has_a_row),
        cmocka_unit_test(a_run_of_a_node_without_clones_does_not_wait),
        cmocka_unit_test(what_waits_is_bounded),
        cmocka_unit_test(records_are_believed_if_they_are_plausible),
    };

    return cmocka_run_group_tests_name("host functions", tests, NULL, NULL);
}
