/* What the tests of nvtx_ranges.c share: events go in as the writer meets them, what the file says
 * comes out. */
#ifndef MP_RECORD_TEST_PATHS_H
#define MP_RECORD_TEST_PATHS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "record/names/dictionary.h"
#include "record/rows/nvtx_ranges.h"
#include "trace/schema.h"
#include "unit/trace_fixture.h"

#define GRAPH 5u

static const struct api_set api;

struct bench {
    struct edge_store store;
    struct dictionary dictionary;
    struct paths paths;
    struct open_ranges open;
    struct mp_writer *writer;
    int fd;
    uint64_t now;
    uint32_t numbers; /* of nodes, given */
    uint32_t correlation;
};

static inline void bench_open(struct bench *bench)
{
    memset(bench, 0, sizeof *bench);
    bench->fd = fixture_file(NULL, 0);
    bench->writer = fixture_writer(bench->fd, "", 0);
    edges_open(&bench->store);
    assert_int_equal(dictionary_open(&bench->dictionary, bench->writer, &api), MP_OK);
    bench->dictionary.edges = &bench->store;
    paths_open(&bench->paths, true);
}

static inline void bench_close(struct bench *bench)
{
    if (bench->writer)
        assert_int_equal(mp_writer_close(bench->writer, NULL), MP_OK);
    paths_close(&bench->paths);
    open_ranges_free(&bench->open);
    dictionary_close(&bench->dictionary);
    edges_close(&bench->store);
    close(bench->fd);
}

/* ---- Events ---- */

static inline void put(struct bench *bench, struct mp_nvtx_event event)
{
    event.tid = event.tid ? event.tid : 1;
    event.time = event.time ? event.time : ++bench->now;
    paths_take(&bench->paths, open_ranges_take(&bench->open, &event), &event);
}

static inline void push(struct bench *bench, const char *name)
{
    put(bench, (struct mp_nvtx_event){.kind = MP_nvtx_kind_push, .name = name});
}

static inline void pop(struct bench *bench)
{
    put(bench, (struct mp_nvtx_event){.kind = MP_nvtx_kind_pop});
}

static inline void start(struct bench *bench, const char *name, uint64_t range)
{
    put(bench, (struct mp_nvtx_event){.kind = MP_nvtx_kind_start, .name = name, .range = range});
}

static inline void end(struct bench *bench, uint32_t tid, uint64_t range, uint64_t time)
{
    put(bench,
        (struct mp_nvtx_event){.kind = MP_nvtx_kind_end, .tid = tid, .range = range, .time = time});
}

/* A node is made in thread 1: its number. */
static inline uint32_t make(struct bench *bench)
{
    put(bench, (struct mp_nvtx_event){.kind = MP_NVTX_ORIGIN, .range = ++bench->numbers});
    return bench->numbers;
}

/* ---- Graphs ---- */

/* A graph of these nodes is instantiated; they have the numbers 1, 2, ... in it. */
static inline void instantiate(struct bench *bench, const uint32_t *origins, uint32_t count)
{
    struct graph_edges *edges = edges_new(&bench->store, GRAPH, 0);

    if (!edges) {
        bench->store.nodes_lost += count;
        return;
    }
    edges->since = bench->correlation++;
    edges->nodes = calloc(count, sizeof *edges->nodes);
    edges->node_count = edges->nodes ? count : 0;
    edges->nodes_lost = edges->nodes ? 0 : count;
    for (uint32_t i = 0; i < edges->node_count; i++)
        edges->nodes[i] = (struct graph_node){.number = i + 1, .origin = origins[i]};
    edges_put(&bench->store, edges);
}

/* A round of the writer. */
static inline void settle(struct bench *bench)
{
    edges_take(&bench->store);
    edges_ripen(&bench->store);
    paths_settle(&bench->paths, &bench->store, &bench->dictionary);
}

static inline void run(struct bench *bench)
{
    dictionary_node(&bench->dictionary, GRAPH, (uint64_t)GRAPH << 32 | 1, ++bench->correlation);
}

/* ---- What the file has ---- */

static bool writer_may_fail;  /* as memory is out */
static char spelled[64][400]; /* by id: paths of the file */
static char strings[300][64];

static inline void take_row(const struct mp_batch *batch, uint32_t row, char *said, size_t size)
{
#define CELL(table, column) (batch->columns[MP_COLUMN_##table##_##column][row])
    if (batch->table->id == MP_TABLE_string && CELL(string, id) < 300) {
        uint32_t begin = row ? batch->text_end[row - 1] : 0;

        snprintf(strings[CELL(string, id)], sizeof strings[0], "%.*s",
                 (int)(batch->text_end[row] - begin), batch->text + begin);
    } else if (batch->table->id == MP_TABLE_path && CELL(path, id) < 64) {
        uint64_t parent = CELL(path, parent);

        assert_true(parent < CELL(path, id));
        snprintf(spelled[CELL(path, id)], sizeof spelled[0], "%.200s%s%s%s%s",
                 parent ? spelled[parent] : "", parent ? ">" : "", strings[CELL(path, domain)],
                 CELL(path, domain) ? ":" : "", strings[CELL(path, name)]);
    } else if (batch->table->id == MP_TABLE_captured) {
        size_t used = strlen(said);

        snprintf(said + used, size - used, "%s%u.%u=%s", used ? " " : "",
                 (unsigned)(CELL(captured, graph) >> 32), (unsigned)CELL(captured, graph_node),
                 spelled[CELL(captured, path)]);
        assert_int_equal((uint32_t)CELL(captured, graph), GRAPH);
        assert_int_equal(CELL(captured, graph_node) >> 32, GRAPH);
    }
#undef CELL
}

/* "0.1=outer>inner 1.1=...": how often the graph's id was used before, the node, its path. Closes
 * the file. */
static inline const char *in_file(struct bench *bench)
{
    static char said[6000];
    struct mp_trace *trace;
    struct mp_cursor *cursor;
    struct mp_batch batch;

    assert_true(mp_writer_close(bench->writer, NULL) == MP_OK || writer_may_fail);
    bench->writer = NULL;
    memset(spelled, 0, sizeof spelled);
    memset(strings, 0, sizeof strings);
    said[0] = '\0';
    assert_int_equal(mp_trace_open(fixture_path(bench->fd), &trace, NULL), MP_OK);
    assert_int_equal(mp_cursor_open(trace, &cursor, NULL), MP_OK);
    while (mp_cursor_next(cursor, &batch) == MP_OK)
        for (uint32_t row = 0; row < batch.rows; row++)
            take_row(&batch, row, said, sizeof said);
    mp_cursor_close(cursor);
    mp_trace_close(trace);
    return said;
}

#endif
