/* The rows that a scene is made of, and the definitions that they need.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "unit/deps/deps_fixture.h"

#define US 1000u

/* Ids that the trace has given out. */
static struct {
    struct mp_intern strings, functions, shapes, streams, nodes, codes;
    uint64_t threads; /* bits */
    uint64_t stacks;  /* how many; each has a frame of its own */
    uint64_t stack;   /* of calls */
} known;

void rows_begin(void)
{
    memset(&known, 0, sizeof known);
}

void rows_end(void)
{
    mp_intern_free(&known.strings);
    mp_intern_free(&known.functions);
    mp_intern_free(&known.shapes);
    mp_intern_free(&known.streams);
    mp_intern_free(&known.nodes);
    mp_intern_free(&known.codes);
}

/* ---- Definitions ---- */

uint64_t put_string(const char *text)
{
    uint32_t before = known.strings.count;
    uint32_t length = (uint32_t)strlen(text);
    uint32_t id = mp_intern_add(&known.strings, text, length);

    if (id > before)
        mp_append_string(scene.writer, &(struct mp_row_string){id, {text, length}});
    return id;
}

static uint64_t reach_thread(uint64_t thread)
{
    uint64_t bit = UINT64_C(1) << thread % 64;

    if (!(known.threads & bit))
        mp_append_thread(scene.writer, &(struct mp_row_thread){.id = thread, .tid = 4000 + thread});
    known.threads |= bit;
    return thread;
}

static uint64_t reach_function(const char *name)
{
    uint32_t before = known.functions.count;
    uint32_t id = mp_intern_add(&known.functions, name, strlen(name));

    if (id > before)
        mp_append_function(scene.writer, &(struct mp_row_function){.id = id,
                                                                   .api = MP_api_runtime,
                                                                   .cbid = id,
                                                                   .name = put_string(name)});
    return id;
}

uint64_t put_kernel_shape(const char *name, uint64_t blocks, uint64_t threads)
{
    uint32_t before = known.shapes.count;
    uint32_t id = mp_intern_add(&known.shapes, name, strlen(name));

    if (id > before)
        mp_append_shape(scene.writer, &(struct mp_row_shape){.id = id,
                                                             .kernel = put_string(name),
                                                             .grid_x = blocks,
                                                             .grid_y = 1,
                                                             .grid_z = 1,
                                                             .block_x = threads,
                                                             .block_y = 1,
                                                             .block_z = 1});
    return id;
}

static uint64_t reach_shape(const char *name)
{
    return put_kernel_shape(name, 1, 0);
}

void put_gpu(uint64_t device, uint64_t multiprocessors)
{
    mp_append_device(scene.writer, &(struct mp_row_device){.id = device,
                                                           .name = put_string("GPU"),
                                                           .compute_major = 9,
                                                           .multiprocessors = multiprocessors});
}

static uint64_t context_of(uint64_t stream)
{
    return stream == NO_STREAM || stream < 1000 ? DEFAULT_CONTEXT : stream / 1000;
}

static uint64_t number_of(uint64_t stream)
{
    return stream == NO_STREAM ? NO_STREAM : stream % 1000;
}

static uint64_t reach_stream(uint64_t stream)
{
    uint32_t before = known.streams.count;
    uint64_t context = context_of(stream);
    uint64_t key[2] = {context, number_of(stream)};
    uint32_t id = mp_intern_add(&known.streams, key, sizeof key);

    if (id > before)
        mp_append_stream(scene.writer, &(struct mp_row_stream){.id = id,
                                                               .stream = key[1],
                                                               .context = context,
                                                               .device = context - 1});
    return id;
}

static uint64_t reach_node(uint64_t graph, uint64_t node)
{
    uint32_t before = known.nodes.count;
    uint64_t key[2] = {graph, node};
    uint32_t id = mp_intern_add(&known.nodes, key, sizeof key);

    if (id > before)
        mp_append_node(scene.writer,
                       &(struct mp_row_node){.id = id, .graph = graph, .graph_node = node});
    return id;
}

static uint64_t reach_code(const char *function)
{
    uint32_t before = known.codes.count;
    uint32_t id = mp_intern_add(&known.codes, function, strlen(function));

    if (id > before)
        mp_append_code(scene.writer, &(struct mp_row_code){.id = id,
                                                           .name = put_string(function),
                                                           .file = put_string("main.py"),
                                                           .first_line = 1});
    return id;
}

uint64_t put_stack(uint64_t caller, const char *function, uint64_t line)
{
    uint64_t id = ++known.stacks;

    mp_append_frame(scene.writer, &(struct mp_row_frame){.id = id,
                                                         .kind = MP_frame_kind_python,
                                                         .code = reach_code(function),
                                                         .line = line});
    mp_append_stack(scene.writer, &(struct mp_row_stack){.id = id, .caller = caller, .frame = id});
    return id;
}

void use_stack(uint64_t stack)
{
    known.stack = stack;
}

void put_maker(uint64_t graph, uint64_t node, uint64_t stack)
{
    mp_append_captured(scene.writer, &(struct mp_row_captured){
                                         .graph = graph, .graph_node = node, .stack = stack});
}

/* ---- Rows ---- */

void put_call(uint64_t thread, const char *name, uint64_t begin, uint64_t end, uint64_t correlation)
{
    mp_append_call(scene.writer, &(struct mp_row_call){.thread = reach_thread(thread),
                                                       .function = reach_function(name),
                                                       .start = begin * US,
                                                       .duration = (end - begin) * US,
                                                       .correlation = correlation,
                                                       .stack = known.stack});
}

static void put_wait_row(uint64_t thread, unsigned kind, uint64_t begin, uint64_t end,
                         uint64_t waker, uint64_t woken)
{
    mp_append_wait(scene.writer, &(struct mp_row_wait){.thread = thread,
                                                       .kind = kind,
                                                       .start = begin * US,
                                                       .duration = (end - begin) * US,
                                                       .waker = waker,
                                                       .woken = (woken - begin) * US});
}

void put_host_wait(uint64_t thread, unsigned kind, uint64_t begin, uint64_t end, uint64_t waker,
                   uint64_t woken)
{
    uint64_t by = waker ? reach_thread(waker) : 0;

    put_wait_row(reach_thread(thread), kind, begin, end, by, woken);
}

void put_unknown_waker(uint64_t thread, uint64_t begin, uint64_t end, uint64_t waker)
{
    put_wait_row(reach_thread(thread), MP_wait_kind_join, begin, end, waker, end);
}

void put_host_function(uint64_t stream, const char *name, uint64_t thread, uint64_t begin,
                       uint64_t end, uint64_t correlation)
{
    mp_append_host_function(scene.writer,
                            &(struct mp_row_host_function){.stream = reach_stream(stream),
                                                           .name = put_string(name),
                                                           .thread = reach_thread(thread),
                                                           .start = begin * US,
                                                           .duration = (end - begin) * US,
                                                           .correlation = correlation});
}

void put_host_time(uint64_t thread, uint64_t begin, uint64_t end, uint64_t computing,
                   uint64_t ready)
{
    mp_append_host_time(scene.writer, &(struct mp_row_host_time){.thread = reach_thread(thread),
                                                                 .start = begin * US,
                                                                 .duration = (end - begin) * US,
                                                                 .computing = computing * US,
                                                                 .ready = ready * US});
}

static void put_kernel_row(uint64_t stream, const char *name, uint64_t node, uint64_t begin,
                           uint64_t end, uint64_t correlation)
{
    mp_append_kernel(scene.writer, &(struct mp_row_kernel){.stream = reach_stream(stream),
                                                           .shape = reach_shape(name),
                                                           .node = node,
                                                           .start = begin * US,
                                                           .duration = (end - begin) * US,
                                                           .correlation = correlation});
}

void put_kernel(uint64_t stream, const char *name, uint64_t begin, uint64_t end,
                uint64_t correlation)
{
    put_kernel_row(stream, name, 0, begin, end, correlation);
}

void put_node(uint64_t stream, const char *name, uint64_t graph, uint64_t node, uint64_t begin,
              uint64_t end, uint64_t correlation)
{
    put_kernel_row(stream, name, reach_node(graph, node), begin, end, correlation);
}

void put_launch(uint64_t stream, const char *name, uint64_t call, uint64_t begin, uint64_t end,
                uint64_t correlation)
{
    put_call(1, "cudaLaunchKernel", call, call + 5, correlation);
    put_kernel(stream, name, begin, end, correlation);
}

void put_copy_of(uint64_t stream, enum mp_copy_kind kind, enum copy_manner manner, uint64_t bytes,
                 uint64_t begin, uint64_t end, uint64_t correlation)
{
    bool from_host = kind == MP_copy_kind_HtoD;
    uint64_t host = manner == PAGEABLE ? MP_memory_kind_pageable : MP_memory_kind_pinned;
    uint64_t target = kind == MP_copy_kind_DtoH ? host : MP_memory_kind_device;

    mp_append_copy(scene.writer,
                   &(struct mp_row_copy){.stream = reach_stream(stream),
                                         .kind = kind,
                                         .source = from_host ? host : MP_memory_kind_device,
                                         .target = target,
                                         .flags = manner != BLOCKING_COPY,
                                         .bytes = bytes,
                                         .start = begin * US,
                                         .duration = (end - begin) * US,
                                         .correlation = correlation,
                                         .count = 1});
}

void put_copy(uint64_t stream, enum mp_copy_kind kind, enum copy_manner manner, uint64_t begin,
              uint64_t end, uint64_t correlation)
{
    put_copy_of(stream, kind, manner, 4096, begin, end, correlation);
}

void put_set(uint64_t stream, uint64_t begin, uint64_t end, uint64_t correlation)
{
    mp_append_set(scene.writer, &(struct mp_row_set){.stream = reach_stream(stream),
                                                     .memory = MP_memory_kind_device,
                                                     .flags = 1,
                                                     .start = begin * US,
                                                     .duration = (end - begin) * US,
                                                     .correlation = correlation});
}

void put_graph(uint64_t stream, uint64_t graph, uint64_t begin, uint64_t end, uint64_t correlation)
{
    mp_append_graph(scene.writer, &(struct mp_row_graph){.stream = reach_stream(stream),
                                                         .graph = graph,
                                                         .start = begin * US,
                                                         .duration = (end - begin) * US,
                                                         .correlation = correlation});
}

void put_edge(uint64_t graph, uint64_t from, uint64_t to)
{
    mp_append_edge(scene.writer, &(struct mp_row_edge){.graph = graph, .from = from, .to = to});
}

static void put_sync_row(struct mp_row_sync row)
{
    row.duration = (row.duration - row.start) * US; /* its end until here */
    row.start *= US;
    mp_append_sync(scene.writer, &row);
}

void put_sync(unsigned kind, uint64_t thread, uint64_t stream, uint64_t event, uint64_t begin,
              uint64_t end, uint64_t correlation)
{
    put_sync_row((struct mp_row_sync){reach_thread(thread), kind, context_of(stream),
                                      number_of(stream), event, begin, end, correlation, 0});
}

void put_sync_in_context(unsigned kind, uint64_t context, uint64_t begin, uint64_t end,
                         uint64_t correlation)
{
    put_sync_row((struct mp_row_sync){reach_thread(1), kind, context, NO_STREAM, 0, begin, end,
                                      correlation, 0});
}

void put_failed_sync(unsigned kind, uint64_t stream, uint64_t event, uint64_t begin, uint64_t end,
                     uint64_t correlation)
{
    static const uint64_t not_ready = 600;

    put_sync_row((struct mp_row_sync){reach_thread(1), kind, context_of(stream), number_of(stream),
                                      event, begin, end, correlation, not_ready});
}

void put_record(uint64_t stream, uint64_t event, uint64_t at, uint64_t correlation)
{
    put_sync(MP_sync_kind_event_record, 1, stream, event, at, at + 1, correlation);
}

void put_wait(uint64_t stream, uint64_t event, uint64_t at, uint64_t correlation)
{
    put_sync(MP_sync_kind_stream_wait_event, 1, stream, event, at, at + 1, correlation);
}

void put_stream_value(uint64_t stream, unsigned operation, unsigned bits, uint64_t address,
                      uint64_t value, uint64_t at, uint64_t correlation)
{
    mp_append_stream_value(scene.writer,
                           &(struct mp_row_stream_value){.stream = number_of(stream),
                                                         .context = context_of(stream),
                                                         .operation = operation,
                                                         .bits = bits,
                                                         .address = address,
                                                         .value = value,
                                                         .start = at * US,
                                                         .correlation = correlation});
}

void put_stream_sync(uint64_t stream, uint64_t begin, uint64_t end, uint64_t correlation)
{
    put_call(1, "cudaStreamSynchronize", begin, end, correlation);
    put_sync(MP_sync_kind_stream_synchronize, 1, stream, 0, begin, end, correlation);
}

void put_event_sync(uint64_t event, uint64_t begin, uint64_t end, uint64_t correlation)
{
    put_call(1, "cudaEventSynchronize", begin, end, correlation);
    put_sync(MP_sync_kind_event_synchronize, 1, NO_STREAM, event, begin, end, correlation);
}

void put_context_sync(uint64_t begin, uint64_t end, uint64_t correlation)
{
    put_call(1, "cudaDeviceSynchronize", begin, end, correlation);
    put_sync(MP_sync_kind_context_synchronize, 1, NO_STREAM, 0, begin, end, correlation);
}

void put_stream_flag(uint64_t stream, unsigned flag)
{
    mp_append_stream_info(scene.writer, &(struct mp_row_stream_info){.stream = number_of(stream),
                                                                     .context = context_of(stream),
                                                                     .flag = flag});
}

void put_null_stream(uint64_t context, uint64_t stream)
{
    mp_append_context_info(scene.writer, &(struct mp_row_context_info){.context = context,
                                                                       .device = context - 1,
                                                                       .null_stream = stream});
}

void put_green(uint64_t context, uint64_t parent, uint64_t multiprocessors)
{
    mp_append_context_info(scene.writer,
                           &(struct mp_row_context_info){.context = context,
                                                         .null_stream = 14,
                                                         .parent = parent,
                                                         .multiprocessors = multiprocessors});
}

void put_range(uint64_t range, uint64_t begin, uint64_t end, uint64_t first, uint64_t behind)
{
    mp_append_capture(scene.writer, &(struct mp_row_capture){.range = range,
                                                             .kind = MP_capture_kind_begin,
                                                             .time = begin * US,
                                                             .correlation = first});
    if (end)
        mp_append_capture(scene.writer, &(struct mp_row_capture){.range = range,
                                                                 .kind = MP_capture_kind_end,
                                                                 .time = end * US,
                                                                 .correlation = behind});
}

void put_nvtx(unsigned kind, uint64_t thread, const char *domain, const char *name, uint64_t at,
              uint64_t range)
{
    mp_append_nvtx(scene.writer, &(struct mp_row_nvtx){.thread = reach_thread(thread),
                                                       .kind = kind,
                                                       .domain = domain ? put_string(domain) : 0,
                                                       .name = name ? put_string(name) : 0,
                                                       .time = at * US,
                                                       .range = range});
}

void put_nvtx_range(const char *name, uint64_t begin, uint64_t end)
{
    put_nvtx(MP_nvtx_kind_push, 1, NULL, name, begin, 0);
    put_nvtx(MP_nvtx_kind_pop, 1, NULL, NULL, end, 0);
}
