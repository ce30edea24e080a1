/* NVTX ranges as TensorRT's, three iterations of them: what `miniprof layers` says of it is worked
 * out by hand in tests/cli/layers.sh. All of thread 1; times in ns, k is 0, 1, 2.
 *
 *     range               begin            call           kernel or copy         duration
 *     iteration           5000000 + k ms
 *       {"Name": "conv1"}   + 10000        + 11000, 4000  + 100000 gemm          50000
 *       {"Name": "out 0"}   + 21000        + 22000, 4000  + 155000 vecAdd        5000
 *       input copy          + 31000        + 32000, 2000  + 165000 memcpy HtoD   2000
 *       <b>ESC[31m @ <lib>  + 41000        + 42000, 4000  + 170000 vecAdd        1000 + k * 1000
 *       idle                + 51000
 *                                          + 70000, 4000  + 180000 vecAdd        100
 *
 * conv1 is a CaskConvolution in FP16, out 0 a Reformat to FP32. Each inner range ends 9000 behind
 * its begin, the iteration at + 60000. Two ranges `open` are pushed at the end.
 */
#ifndef TESTS_KNOWN_LAYERS_H
#define TESTS_KNOWN_LAYERS_H

#include <stdint.h>
#include <string.h>

#include "trace/writer.h"

static const char *const known_layer_strings[] = {
    "iteration",
    ("{\"Name\": \"conv1\", \"LayerType\": \"CaskConvolution\", \"Inputs\": [{\"Name\": \"x\", "
     "\"Dimensions\": [1,3,224,224], \"Format/Datatype\": \"Half\"}], \"Outputs\": [{\"Name\": "
     "\"y\", \"Dimensions\": [1,64,112,112], \"Format/Datatype\": \"Half\"}], \"TacticName\": "
     "\"sm80_xmma_fprop\", \"TacticValue\": \"0x11b\"}"),
    ("{\"Name\":\"out 0\",\"LayerType\":\"Reformat\",\"Outputs\":[{\"Dimensions\":[1,1000],"
     "\"Format/Datatype\":\"Row major linear FP32\"}]}"),
    "input copy",
    "<b>\033[31m",
    "idle",
    "<lib>",
    "open",
};

enum known_layer_string {
    KNOWN_LAYER_ITERATION,
    KNOWN_LAYER_CONV,
    KNOWN_LAYER_REFORMAT,
    KNOWN_LAYER_COPY,
    KNOWN_LAYER_ODD,
    KNOWN_LAYER_IDLE,
    KNOWN_LAYER_LIB,
    KNOWN_LAYER_OPEN,
    KNOWN_LAYER_STRINGS
};

static inline void known_layer_event(struct mp_writer *writer, unsigned kind, uint64_t domain,
                                     uint64_t name, uint64_t time)
{
    mp_append_nvtx(writer,
                   &(struct mp_row_nvtx){
                       .thread = 1, .kind = kind, .domain = domain, .name = name, .time = time});
}

static inline void known_layer_call(struct mp_writer *writer, uint64_t function, uint64_t start,
                                    uint64_t duration, uint64_t correlation)
{
    mp_append_call(writer, &(struct mp_row_call){.thread = 1,
                                                 .function = function,
                                                 .start = start,
                                                 .duration = duration,
                                                 .correlation = correlation});
}

static inline void known_layer_kernel(struct mp_writer *writer, uint64_t shape, uint64_t start,
                                      uint64_t duration, uint64_t correlation)
{
    mp_append_kernel(writer, &(struct mp_row_kernel){.stream = 1,
                                                     .shape = shape,
                                                     .start = start,
                                                     .duration = duration,
                                                     .correlation = correlation});
}

/* An iteration from `at` on; correlation ids from `id` on. Strings have the ids from `first` on. */
static inline void known_layer_iteration(struct mp_writer *writer, uint64_t first, uint64_t k,
                                         bool calls)
{
    const uint64_t at = 5000000 + 1000000 * k;
    const uint64_t id = 1000 + 10 * k;

    known_layer_event(writer, MP_nvtx_kind_push, 0, first + KNOWN_LAYER_ITERATION, at);
    for (uint64_t i = KNOWN_LAYER_CONV; i <= KNOWN_LAYER_IDLE; i++) {
        uint64_t begin = at + 10000 * i + (i > 1 ? 1000 : 0);
        uint64_t domain = i == KNOWN_LAYER_ODD ? first + KNOWN_LAYER_LIB : 0;
        bool copy = i == KNOWN_LAYER_COPY;

        known_layer_event(writer, MP_nvtx_kind_push, domain, first + i, begin);
        if (calls && i != KNOWN_LAYER_IDLE)
            known_layer_call(writer, copy ? 5 : 1, begin + 1000, copy ? 2000 : 4000, id + i);
        known_layer_event(writer, MP_nvtx_kind_pop, domain, 0, begin + 9000);
    }
    known_layer_event(writer, MP_nvtx_kind_pop, 0, 0, at + 60000);
    if (calls)
        known_layer_call(writer, 1, at + 70000, 4000, id + 9);
    known_layer_kernel(writer, 3, at + 100000, 50000, id + KNOWN_LAYER_CONV);
    known_layer_kernel(writer, 1, at + 155000, 5000, id + KNOWN_LAYER_REFORMAT);
    mp_append_copy(writer, &(struct mp_row_copy){.stream = 1,
                                                 .kind = MP_copy_kind_HtoD,
                                                 .source = MP_memory_kind_pageable,
                                                 .target = MP_memory_kind_device,
                                                 .bytes = 4096,
                                                 .start = at + 165000,
                                                 .duration = 2000,
                                                 .correlation = id + KNOWN_LAYER_COPY,
                                                 .count = 1});
    known_layer_kernel(writer, 2, at + 170000, 1000 + 1000 * k, id + KNOWN_LAYER_ODD);
    known_layer_kernel(writer, 2, at + 180000, 100, id + 9);
}

/* The names get the string ids from `first` on. */
static inline void known_layer_define(struct mp_writer *writer, uint64_t first)
{
    for (uint64_t i = 0; i < KNOWN_LAYER_STRINGS; i++) {
        const char *text = known_layer_strings[i];

        mp_append_string(writer, &(struct mp_row_string){.id = first + i,
                                                         .text = {text, (uint32_t)strlen(text)}});
    }
}

static inline void known_layer_rows(struct mp_writer *writer, uint64_t first, bool calls)
{
    known_layer_define(writer, first);
    for (uint64_t k = 0; k < 3; k++)
        known_layer_iteration(writer, first, k, calls);
    known_layer_event(writer, MP_nvtx_kind_push, 0, first + KNOWN_LAYER_OPEN, 8000000);
    known_layer_event(writer, MP_nvtx_kind_push, 0, first + KNOWN_LAYER_OPEN, 8000001);
}

#endif
