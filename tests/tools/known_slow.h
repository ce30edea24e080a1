/* A loop in which one layer has most of the time, and one only reformats: what `miniprof advise`
 * says of it follows from this table. Six iterations of thread 1, each a range `iteration` of
 * 152000 ns; times in ns, k is 0 to 5.
 *
 *     range                 begin             calls                     kernels          duration
 *     iteration             5000000 + k * 160000
 *       {"Name": "conv1"}     + 1000          + 2000, + 7000; 4000      + 50000 gemm     60000
 *                                                                       + 112000 gemm    10000
 *       pool                  + 13000         + 14000, 4000             + 124000 vecAdd   8000
 *       relu                  + 20000         + 21000, 4000             + 134000 vecAdd   6000
 *       {"Name": "out 0"}     + 27000         + 28000, 4000             + 142000 vecAdd   5000
 *                                             + 34000 cudaStreamSynchronize, to + 150000
 *
 * conv1 is a CaskConvolution, out 0 a Reformat (known_layers.h). Of 89000 ns conv1 has 70000, 78.7
 * percent; the median of the other three is 6000. Without out 0 and its gap of 2000 an iteration is
 * 7000 shorter.
 */
#ifndef TESTS_KNOWN_SLOW_H
#define TESTS_KNOWN_SLOW_H

#include "known_layers.h"

#define KNOWN_SLOW_ITERATIONS 6

/* A range with its launch 1000 behind its begin. */
static inline void known_slow_layer(struct mp_writer *writer, uint64_t name, uint64_t begin,
                                    uint64_t id)
{
    known_layer_event(writer, MP_nvtx_kind_push, 0, name, begin);
    known_layer_call(writer, 1, begin + 1000, 4000, id);
    known_layer_event(writer, MP_nvtx_kind_pop, 0, 0, begin + 6000);
}

/* Strings as in known_layers.h from `first` on, then `pool` and `relu`. */
static inline void known_slow_iteration(struct mp_writer *writer, uint64_t first, uint64_t k)
{
    const uint64_t at = 5000000 + 160000 * k;
    const uint64_t id = 1000 + 10 * k;

    known_layer_event(writer, MP_nvtx_kind_push, 0, first + KNOWN_LAYER_ITERATION, at);
    known_layer_event(writer, MP_nvtx_kind_push, 0, first + KNOWN_LAYER_CONV, at + 1000);
    known_layer_call(writer, 1, at + 2000, 4000, id + 1);
    known_layer_call(writer, 1, at + 7000, 4000, id + 2);
    known_layer_event(writer, MP_nvtx_kind_pop, 0, 0, at + 12000);
    known_slow_layer(writer, first + KNOWN_LAYER_STRINGS, at + 13000, id + 3);
    known_slow_layer(writer, first + KNOWN_LAYER_STRINGS + 1, at + 20000, id + 4);
    known_slow_layer(writer, first + KNOWN_LAYER_REFORMAT, at + 27000, id + 5);
    known_layer_call(writer, 4, at + 34000, 116000, id + 6);
    known_layer_event(writer, MP_nvtx_kind_pop, 0, 0, at + 152000);
    known_layer_kernel(writer, 3, at + 50000, 60000, id + 1);
    known_layer_kernel(writer, 3, at + 112000, 10000, id + 2);
    known_layer_kernel(writer, 1, at + 124000, 8000, id + 3);
    known_layer_kernel(writer, 1, at + 134000, 6000, id + 4);
    known_layer_kernel(writer, 1, at + 142000, 5000, id + 5);
    mp_append_sync(writer, &(struct mp_row_sync){.kind = MP_sync_kind_stream_synchronize,
                                                 .thread = 1,
                                                 .stream = 1,
                                                 .start = at + 34000,
                                                 .duration = 116000,
                                                 .correlation = id + 6});
}

static inline void known_slow_rows(struct mp_writer *writer, uint64_t first)
{
    static const char *const names[] = {"pool", "relu"};

    known_layer_define(writer, first);
    for (uint64_t i = 0; i < 2; i++)
        mp_append_string(writer,
                         &(struct mp_row_string){.id = first + KNOWN_LAYER_STRINGS + i,
                                                 .text = {names[i], (uint32_t)strlen(names[i])}});
    for (uint64_t k = 0; k < KNOWN_SLOW_ITERATIONS; k++)
        known_slow_iteration(writer, first, k);
}

#endif
