/* Calls with Python stacks: what `miniprof stacks` says of them is worked out by hand in
 * tests/cli/stacks.sh. All of thread 1; times in ns.
 *
 *     stack                                  call               kernel or copy
 *     1  <module> (/app/main.py:10)
 *     2  1 > train (/app/main.py:20)         1004: 5006000      5250000 memcpy HtoD  2000
 *     3  2 > forward (/app/model.py:7)       1001: 5000000      5100000 gemm         50000
 *     4  3 > forward (/app/model.py:7)       1002: 5002000      5160000 gemm         10000
 *     5  2 > backward (/app/model.py:9)      1003: 5004000      5180000 vecAdd       8000
 *     -  none                                1005: 5008000      5260000 vecAdd       5000
 *     2                                      1007: 5010000      5270000 vecAdd, of a graph's node
 *                                                               that was made in 5   3000
 *     2                                      1006: 5012000 cudaStreamSynchronize, to 5275000
 *     3                                      1008: 5300000      5310000 vecAdd       10000
 *     2                                      1009: 5305000 cudaStreamSynchronize, to 5325000
 *     6  1 > train (/app/main.py:21)         1010: 5365000      5370000 vecAdd       4000
 *     6                                      1011: 5367000 cudaStreamSynchronize, to 5376000
 *
 * The host is in its own code from 5275000 to 5300000, in train, at line 20; and from 5325000 to
 * 5365000, in train too, from line 20 to line 21. With samples:
 *
 *     5290000   10000 ns in stack 4, with the lock
 *     5335000    8000 ns in stack 6, without it
 *     5360000   20000 ns without a stack
 *     5400000    5000 ns in stack 1, with the lock
 *
 * With native stacks, of the program /opt/infer, a shared library, and code without a module:
 *
 *     10  infer+0x10                                2000: 6000000 cudaLaunchKernel
 *     11  10 > libwork.so+0x20                      2001: 6010000 cudaLaunchKernel
 *     13  libwork.so+0x20 > <no module>+0x30        2002: 6020000 cudaLaunchKernel
 */
#ifndef TESTS_KNOWN_STACKS_H
#define TESTS_KNOWN_STACKS_H

#include "known_layers.h"

static inline void known_stack_call(struct mp_writer *writer, uint64_t function, uint64_t start,
                                    uint64_t duration, uint64_t correlation, uint64_t stack)
{
    mp_append_call(writer, &(struct mp_row_call){.thread = 1,
                                                 .function = function,
                                                 .start = start,
                                                 .duration = duration,
                                                 .correlation = correlation,
                                                 .stack = stack});
}

/* Names have the string ids from `first` on: functions, then files. */
static inline void known_stack_define(struct mp_writer *writer, uint64_t first)
{
    static const char *const texts[] = {"<module>", "train",        "forward",
                                        "backward", "/app/main.py", "/app/model.py"};
    static const struct mp_row_frame frames[] = {
        {1, MP_frame_kind_python, 1, 10, 0, 0}, {2, MP_frame_kind_python, 2, 20, 0, 0},
        {3, MP_frame_kind_python, 3, 7, 0, 0},  {4, MP_frame_kind_python, 4, 9, 0, 0},
        {5, MP_frame_kind_python, 2, 21, 0, 0},
    };
    static const struct mp_row_stack stacks[] = {{1, 0, 1}, {2, 1, 2}, {3, 2, 3},
                                                 {4, 3, 3}, {5, 2, 4}, {6, 1, 5}};

    for (uint64_t i = 0; i < sizeof texts / sizeof *texts; i++)
        mp_append_string(writer,
                         &(struct mp_row_string){.id = first + i,
                                                 .text = {texts[i], (uint32_t)strlen(texts[i])}});
    for (uint64_t i = 0; i < 4; i++) {
        mp_append_code(writer, &(struct mp_row_code){.id = i + 1,
                                                     .name = first + i,
                                                     .file = first + (i < 2 ? 4 : 5),
                                                     .first_line = 1});
    }
    for (size_t i = 0; i < sizeof frames / sizeof *frames; i++)
        mp_append_frame(writer, &frames[i]);
    for (size_t i = 0; i < sizeof stacks / sizeof *stacks; i++)
        mp_append_stack(writer, &stacks[i]);
    mp_append_node(writer, &(struct mp_row_node){.id = 1, .graph = 1, .graph_node = 7});
    mp_append_captured(writer, &(struct mp_row_captured){.graph = 1, .graph_node = 7, .stack = 5});
}

static inline void known_stack_wait(struct mp_writer *writer, uint64_t start, uint64_t duration,
                                    uint64_t correlation, uint64_t stack)
{
    known_stack_call(writer, 4, start, duration, correlation, stack);
    mp_append_sync(writer, &(struct mp_row_sync){.kind = MP_sync_kind_stream_synchronize,
                                                 .thread = 1,
                                                 .stream = 13,
                                                 .context = 1,
                                                 .start = start,
                                                 .duration = duration,
                                                 .correlation = correlation});
}

static inline void known_stack_samples(struct mp_writer *writer)
{
    static const struct mp_row_host_sample samples[] = {
        {1, 5290000, 10000, 4, MP_gil_held},
        {1, 5335000, 8000, 6, MP_gil_free},
        {1, 5360000, 20000, 0, MP_gil_unknown},
        {1, 5400000, 5000, 1, MP_gil_held},
    };

    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++)
        mp_append_host_sample(writer, &samples[i]);
}

static inline void known_stack_natives(struct mp_writer *writer, uint64_t first)
{
    static const char *const texts[] = {"/opt/infer", "/opt/libwork.so", "00"};
    static const struct mp_row_frame frames[] = {
        {.id = 10, .kind = MP_frame_kind_native, .module = 1, .address = 0x10},
        {.id = 11, .kind = MP_frame_kind_native, .module = 2, .address = 0x20},
        {.id = 12, .kind = MP_frame_kind_native, .module = 0, .address = 0x30},
    };
    static const struct mp_row_stack stacks[] = {
        {10, 0, 10}, {11, 10, 11}, {12, 0, 11}, {13, 12, 12}};

    for (uint64_t i = 0; i < 3; i++)
        mp_append_string(writer,
                         &(struct mp_row_string){.id = first + i,
                                                 .text = {texts[i], (uint32_t)strlen(texts[i])}});
    for (uint64_t i = 0; i < 2; i++)
        mp_append_module(
            writer, &(struct mp_row_module){.id = 1 + i, .path = first + i, .build_id = first + 2});
    for (size_t i = 0; i < sizeof frames / sizeof *frames; i++)
        mp_append_frame(writer, &frames[i]);
    for (size_t i = 0; i < sizeof stacks / sizeof *stacks; i++)
        mp_append_stack(writer, &stacks[i]);
    known_stack_call(writer, 1, 6000000, 1000, 2000, 10);
    known_stack_call(writer, 1, 6010000, 4000, 2001, 11);
    known_stack_call(writer, 1, 6020000, 3000, 2002, 13);
}

static inline void known_stack_rows(struct mp_writer *writer, uint64_t first)
{
    known_stack_define(writer, first);
    known_stack_call(writer, 1, 5000000, 1000, 1001, 3);
    known_stack_call(writer, 1, 5002000, 1000, 1002, 4);
    known_stack_call(writer, 1, 5004000, 1000, 1003, 5);
    known_stack_call(writer, 5, 5006000, 1000, 1004, 2);
    known_stack_call(writer, 1, 5008000, 1000, 1005, 0);
    known_stack_call(writer, 1, 5010000, 1000, 1007, 2);
    known_stack_wait(writer, 5012000, 263000, 1006, 2);
    known_layer_kernel(writer, 3, 5100000, 50000, 1001);
    known_layer_kernel(writer, 3, 5160000, 10000, 1002);
    known_layer_kernel(writer, 1, 5180000, 8000, 1003);
    mp_append_copy(writer, &(struct mp_row_copy){.stream = 1,
                                                 .kind = MP_copy_kind_HtoD,
                                                 .source = MP_memory_kind_pinned,
                                                 .target = MP_memory_kind_device,
                                                 .flags = 1,
                                                 .bytes = 4096,
                                                 .start = 5250000,
                                                 .duration = 2000,
                                                 .correlation = 1004,
                                                 .count = 1});
    known_layer_kernel(writer, 1, 5260000, 5000, 1005);
    mp_append_kernel(writer, &(struct mp_row_kernel){.stream = 1,
                                                     .shape = 1,
                                                     .node = 1,
                                                     .start = 5270000,
                                                     .duration = 3000,
                                                     .correlation = 1007});
    known_stack_call(writer, 1, 5300000, 1000, 1008, 3);
    known_stack_wait(writer, 5305000, 20000, 1009, 2);
    known_layer_kernel(writer, 1, 5310000, 10000, 1008);
    known_stack_call(writer, 1, 5365000, 1000, 1010, 6);
    known_stack_wait(writer, 5367000, 9000, 1011, 6);
    known_layer_kernel(writer, 1, 5370000, 4000, 1010);
}

#endif
