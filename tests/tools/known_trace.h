/* Trace files whose rows are written down here: what the tests of the reader's side expect comes
 * from this page, computed by hand, not from the code under test.
 *
 *     GPU activities    calls                     API calls                          calls
 *     vecAdd(...)       10000 + 20000 + 30000     cudaLaunchKernel (three names)     5000 + 6000 +
 * 7000 gemm<128>(...)    1234567                   cudaStreamSynchronize              1300000
 *     memcpy HtoD       1000 + 3000               cuMemcpyHtoDAsync                  2000 + 2001
 *     memcpy PtoP       500
 *     memset            640
 *     graph 7           50000
 *
 * Range 1 holds correlations 100 to 105 and times 1000000 to 1999999, range 2 those from 200 and
 * 2000000 on; one kernel of range 1 runs while range 2 is on.
 */
#ifndef TESTS_KNOWN_TRACE_H
#define TESTS_KNOWN_TRACE_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "known_counters.h"
#include "known_layers.h"
#include "known_metrics.h"
#include "known_nvtx.h"
#include "known_slow.h"
#include "known_stacks.h"
#include "trace/writer.h"

#define KNOWN_VECADD_MANGLED "_Z6vecAddPKfS0_Pfi"
#define KNOWN_VECADD         "vecAdd(float const*, float const*, float*, int)"
#define KNOWN_GEMM_MANGLED   "_Z4gemmILi128EEvPKfS1_Pf"
#define KNOWN_GEMM           "void gemm<128>(float const*, float const*, float*)"

#define KNOWN_HEADER                                                                               \
    "miniprof=make_trace 1\npid=4242\nexecutable=/opt/infer\nargv=./infer --batch 1\n"             \
    "clock=monotonic\n"

enum known_string {
    KNOWN_STRING_VECADD = 1,
    KNOWN_STRING_GEMM,
    KNOWN_STRING_LAUNCH,
    KNOWN_STRING_LAUNCH_PTSZ,
    KNOWN_STRING_LAUNCH_PLAIN,
    KNOWN_STRING_SYNCHRONIZE,
    KNOWN_STRING_COPY,
    KNOWN_STRING_DEVICE,
    KNOWN_STRING_THREAD,
    KNOWN_STRING_DROPPED,
    KNOWN_STRING_LAST = KNOWN_STRING_DROPPED
};

static const char *const known_strings[] = {
    KNOWN_VECADD_MANGLED,     KNOWN_GEMM_MANGLED,
    "cudaLaunchKernel_v7000", "cudaLaunchKernel_ptsz_v7000",
    "cudaLaunchKernel",       "cudaStreamSynchronize_v3020",
    "cuMemcpyHtoDAsync_v2",   "Tested GPU",
    "worker, \"main\"",       "dropped_by_cupti",
};

/* The same with names that would be markup in a page, and would set `bad` in its window. */
#define KNOWN_HOSTILE_KERNEL "<img src=x onerror=window.bad=1>"
#define KNOWN_HOSTILE_THREAD "</script><script>window.bad=1</script>"
#define KNOWN_HOSTILE_DEVICE "\"><svg onload=window.bad=1>&lt;b&gt;"

static inline const char *known_string(uint64_t id, bool hostile)
{
    if (hostile && id == KNOWN_STRING_GEMM)
        return KNOWN_HOSTILE_KERNEL;
    if (hostile && id == KNOWN_STRING_DEVICE)
        return KNOWN_HOSTILE_DEVICE;
    if (hostile && id == KNOWN_STRING_THREAD)
        return KNOWN_HOSTILE_THREAD;
    return known_strings[id - 1];
}

static inline void known_define(struct mp_writer *writer, bool hostile)
{
    for (uint64_t id = 1; id <= KNOWN_STRING_LAST; id++) {
        const char *text = known_string(id, hostile);
        struct mp_row_string row = {.id = id, .text = {text, (uint32_t)strlen(text)}};
        mp_append_string(writer, &row);
    }
    mp_append_thread(writer,
                     &(struct mp_row_thread){.id = 1, .tid = 77, .name = KNOWN_STRING_THREAD});
    mp_append_device(writer, &(struct mp_row_device){.id = 0, .name = KNOWN_STRING_DEVICE});
    mp_append_stream(writer, &(struct mp_row_stream){.id = 1, .stream = 13, .context = 1});
    for (uint64_t id = 1; id <= 5; id++) /* names in the order of enum known_string */
        mp_append_function(writer,
                           &(struct mp_row_function){.id = id,
                                                     .api = id < 5 ? MP_api_runtime : MP_api_driver,
                                                     .cbid = 200 + id,
                                                     .name = KNOWN_STRING_LAUNCH + id - 1});
    /* vecAdd twice, with different grids: two shapes, one name. */
    for (uint64_t id = 1; id <= 3; id++)
        mp_append_shape(writer, &(struct mp_row_shape){.id = id,
                                                       .kernel = id < 3 ? KNOWN_STRING_VECADD
                                                                        : KNOWN_STRING_GEMM,
                                                       .grid_x = 10 * id,
                                                       .grid_y = 1,
                                                       .grid_z = 1,
                                                       .block_x = 256,
                                                       .block_y = 1,
                                                       .block_z = 1});
}

static inline void known_kernel(struct mp_writer *writer, uint64_t shape, uint64_t start,
                                int64_t duration, uint64_t correlation)
{
    mp_append_kernel(writer, &(struct mp_row_kernel){.stream = 1,
                                                     .shape = shape,
                                                     .start = start,
                                                     .duration = (uint64_t)duration,
                                                     .correlation = correlation});
}

static inline void known_call(struct mp_writer *writer, uint64_t function, uint64_t start,
                              uint64_t duration, uint64_t correlation)
{
    mp_append_call(writer, &(struct mp_row_call){.thread = 1,
                                                 .function = function,
                                                 .start = start,
                                                 .duration = duration,
                                                 .correlation = correlation});
}

static inline void known_copy(struct mp_writer *writer, uint64_t kind, uint64_t start,
                              uint64_t duration, uint64_t correlation)
{
    mp_append_copy(writer, &(struct mp_row_copy){.stream = 1,
                                                 .kind = kind,
                                                 .source = MP_memory_kind_pageable,
                                                 .target = MP_memory_kind_device,
                                                 .bytes = 4096,
                                                 .start = start,
                                                 .duration = duration,
                                                 .correlation = correlation,
                                                 .count = 1});
}

static inline void known_capture(struct mp_writer *writer, uint64_t range, uint64_t kind,
                                 uint64_t time, uint64_t correlation)
{
    mp_append_capture(writer, &(struct mp_row_capture){.range = range,
                                                       .kind = kind,
                                                       .time = time,
                                                       .correlation = correlation,
                                                       .reason = MP_capture_reason_profiler_api});
}

static inline void known_range_one(struct mp_writer *writer)
{
    known_capture(writer, 1, MP_capture_kind_begin, 1000000, 100);
    known_copy(writer, MP_copy_kind_HtoD, 1010000, 1000, 101);
    known_kernel(writer, 1, 1020000, 10000, 102);
    known_kernel(writer, 2, 2040000, 30000, 103); /* launched in range 1, runs in range 2 */
    known_call(writer, 5, 1001000, 2000, 101);
    known_call(writer, 1, 1004000, 5000, 102);
    known_call(writer, 2, 1010000, 6000, 103);
    known_capture(writer, 1, MP_capture_kind_end, 2000000, 106);
}

static inline void known_range_two(struct mp_writer *writer)
{
    known_capture(writer, 2, MP_capture_kind_begin, 2000000, 200);
    known_copy(writer, MP_copy_kind_HtoD, 2010000, 3000, 201);
    known_copy(writer, MP_copy_kind_PtoP, 2015000, 500, 202);
    known_kernel(writer, 1, 2020000, 20000, 203);
    known_kernel(writer, 3, 2100000, 1234567, 204);
    mp_append_set(writer, &(struct mp_row_set){.stream = 1,
                                               .bytes = 64,
                                               .memory = MP_memory_kind_device,
                                               .start = 2090000,
                                               .duration = 640,
                                               .correlation = 205});
    mp_append_graph(
        writer,
        &(struct mp_row_graph){
            .stream = 1, .graph = 7, .start = 3400000, .duration = 50000, .correlation = 206});
    known_call(writer, 5, 2001000, 2001, 201);
    known_call(writer, 3, 2004000, 7000, 203);
    known_call(writer, 4, 2100000, 1300000, 207);
    known_capture(writer, 2, MP_capture_kind_end, 3500000, 300);
}

/* Rows that no sum may hold. */
static inline void known_doubtful(struct mp_writer *writer)
{
    known_kernel(writer, 1, 0, 0, 0);        /* begin and end unknown */
    known_kernel(writer, 1, 0, 2500000, 0);  /* begin unknown */
    known_kernel(writer, 1, 2500000, -5, 0); /* ends before it begins */
}

struct known_options {
    const char *header; /* NULL: KNOWN_HEADER */
    bool empty;         /* no rows at all */
    bool no_work;       /* API calls only */
    bool doubtful;
    bool undefined;     /* a kernel whose shape is not defined */
    bool metrics;       /* known_metrics.h */
    bool counters;      /* known_counters.h */
    bool layers;        /* known_layers.h, and nothing else */
    bool no_calls;      /* of layers */
    bool slow_layer;    /* known_slow.h, and nothing else */
    bool stacks;        /* known_stacks.h, and nothing else */
    bool host_samples;  /* and its samples */
    bool natives;       /* and calls with native stacks */
    bool nvtx;          /* known_nvtx.h */
    bool hostile;       /* names that are markup */
    uint64_t dropped;   /* records */
    bool losses;        /* of `dropped`, by capture range, and rows that mean nothing */
    uint64_t slow;      /* ns of one more vecAdd at 3600000, behind everything; 0: none */
    uint32_t streams;   /* a kernel of 100 us on each of so many more streams, from 5000000 on */
    uint32_t dependent; /* kernels of 50 us on stream 1, one every 10 us from 5000000 on */
    uint32_t untimed;   /* kernels without times behind everything, counted */
    bool nodes;         /* they are of a graph's node */
    uint32_t samples;   /* known_many_samples */
    uint32_t many;      /* this many more vecAdd launches behind range 2 */
};

/* Range 1 may lack all that was dropped. Of range 2 three kernels had no record and two came late.
 * Range 9 is not in the trace, nor is string 999. A range's sum of 0 or less is no loss. */
static inline void known_losses(struct mp_writer *writer, uint64_t dropped)
{
    const struct mp_row_loss rows[] = {{1, KNOWN_STRING_DROPPED, dropped},
                                       {2, KNOWN_STRING_LAST + 1, 3},
                                       {9, KNOWN_STRING_DROPPED, 5},
                                       {9, KNOWN_STRING_DROPPED, (uint64_t)-5},
                                       {2, 999, 7},
                                       {2, KNOWN_STRING_LAST + 1, (uint64_t)-2},
                                       {0, KNOWN_STRING_LAST + 1, (uint64_t)INT64_MIN},
                                       {UINT64_MAX, KNOWN_STRING_VECADD, INT64_MAX}};

    mp_append_string(
        writer, &(struct mp_row_string){.id = KNOWN_STRING_LAST + 1,
                                        .text = {.bytes = "unanswered_launches", .length = 19}});
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        mp_append_loss(writer, &rows[i]);
    mp_append_quality(writer, &(struct mp_row_quality){
                                  .name = KNOWN_STRING_LAST + 1, .time = 3600000, .value = 1});
}

/* With `nodes` as CUPTI gives nodes of graphs with --concurrent-kernels off. */
static inline void known_untimed(struct mp_writer *writer, uint64_t count, bool nodes)
{
    mp_append_string(writer,
                     &(struct mp_row_string){.id = KNOWN_STRING_LAST + 1,
                                             .text = {.bytes = "zero_timestamps", .length = 15}});
    mp_append_node(writer, &(struct mp_row_node){.id = 1, .graph = 1, .graph_node = 7});
    for (uint64_t i = 0; i < count; i++)
        mp_append_kernel(writer,
                         &(struct mp_row_kernel){
                             .stream = 1, .shape = 1, .node = nodes, .correlation = 20000 + i});
    mp_append_quality(writer, &(struct mp_row_quality){
                                  .name = KNOWN_STRING_LAST + 1, .time = 3600000, .value = count});
}

static inline void known_streams(struct mp_writer *writer, uint32_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        mp_append_stream(writer,
                         &(struct mp_row_stream){.id = 2 + i, .stream = 100 + i, .context = 1});
        mp_append_kernel(writer, &(struct mp_row_kernel){.stream = 2 + i,
                                                         .shape = 1,
                                                         .start = 5000000 + 1000 * i,
                                                         .duration = 100000,
                                                         .correlation = 10000 + i});
    }
}

static inline void known_rows(struct mp_writer *writer, const struct known_options *options)
{
    known_define(writer, options->hostile);
    if (options->no_work) {
        known_call(writer, 1, 1004000, 5000, 102);
        return;
    }
    if (options->layers) {
        known_layer_rows(writer, KNOWN_STRING_LAST + 1, !options->no_calls);
        return;
    }
    if (options->slow_layer) {
        known_slow_rows(writer, KNOWN_STRING_LAST + 1);
        return;
    }
    if (options->stacks) {
        known_stack_rows(writer, KNOWN_STRING_LAST + 1);
        if (options->host_samples)
            known_stack_samples(writer);
        if (options->natives)
            known_stack_natives(writer, KNOWN_STRING_LAST + 100);
        return;
    }
    known_range_one(writer);
    mp_writer_flush(writer); /* the second range in chunks of its own */
    known_range_two(writer);
    if (options->doubtful)
        known_doubtful(writer);
    if (options->undefined)
        known_kernel(writer, 9, 2600000, 777, 0);
    if (options->slow)
        known_kernel(writer, 1, 3600000, (int64_t)options->slow, 399);
    for (uint32_t i = 0; i < options->many; i++)
        known_kernel(writer, 1, 4000000 + 1000ull * i, 500, 400 + i);
    known_streams(writer, options->streams);
    for (uint32_t i = 0; i < options->dependent; i++)
        known_kernel(writer, 2, 5000000 + 10000ull * i, 50000, 400 + i);
    if (options->nvtx)
        known_nvtx_rows(writer, KNOWN_STRING_LAST + 1);
    if (options->metrics)
        known_metric_rows(writer, KNOWN_STRING_LAST + 1, KNOWN_STRING_VECADD, KNOWN_STRING_GEMM);
    if (options->counters)
        known_counter_rows(writer, KNOWN_STRING_LAST + 1);
    if (options->samples)
        known_many_samples(writer, KNOWN_STRING_LAST + 1, options->samples);
    if (options->dropped)
        mp_append_quality(writer, &(struct mp_row_quality){.name = KNOWN_STRING_DROPPED,
                                                           .time = 3600000,
                                                           .value = options->dropped});
    if (options->untimed)
        known_untimed(writer, options->untimed, options->nodes);
    if (options->losses)
        known_losses(writer, options->dropped);
}

/* Writes the file; false when that failed. It must not exist. */
static inline bool known_write(const char *path, const struct known_options *options)
{
    struct mp_writer_options how = {.level = 3, .chunk_bytes = 0};
    struct mp_writer *writer;
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);

    if (fd < 0)
        return false;
    if (mp_writer_open(fd, options->header ? options->header : KNOWN_HEADER, &how, &writer, NULL))
        return false;
    if (!options->empty)
        known_rows(writer, options);
    mp_writer_set_dropped(writer, options->dropped);
    return mp_writer_close(writer, NULL) == MP_OK;
}

#endif
