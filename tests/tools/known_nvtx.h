/* NVTX ranges around the calls of known_trace.h, all of thread 1.
 *
 *     range   domain   begin     end       calls inside, by correlation id
 *     step             1000500   1020000   101, 102, 103
 *     load    io       1000600   1003500   101
 *     step             2000500   3500000   201, 203, 207
 *     open             2003500   none      203, 207; the trace ends at 3500000
 *
 * 101 and 201 copied for 1000 and 3000 ns; 102, 103 and 203 launched vecAdd for 10000, 30000 and
 * 20000; 207 synchronised.
 */
#ifndef TESTS_KNOWN_NVTX_H
#define TESTS_KNOWN_NVTX_H

#include <stdint.h>

#include "trace/writer.h"

static inline void known_nvtx(struct mp_writer *writer, unsigned kind, uint64_t domain,
                              uint64_t name, uint64_t time)
{
    mp_append_nvtx(writer, &(struct mp_row_nvtx){.thread = 1,
                                                 .kind = kind,
                                                 .domain = domain,
                                                 .name = name,
                                                 .time = time,
                                                 .range = kind == MP_nvtx_kind_start});
}

/* The names get the string ids from `first` on. */
static inline void known_nvtx_rows(struct mp_writer *writer, uint64_t first)
{
    const uint64_t step = first;
    const uint64_t load = first + 1;
    const uint64_t open = first + 2;
    const uint64_t io = first + 3;

    mp_append_string(writer, &(struct mp_row_string){.id = step, .text = {"step", 4}});
    mp_append_string(writer, &(struct mp_row_string){.id = load, .text = {"load", 4}});
    mp_append_string(writer, &(struct mp_row_string){.id = open, .text = {"open", 4}});
    mp_append_string(writer, &(struct mp_row_string){.id = io, .text = {"io", 2}});
    known_nvtx(writer, MP_nvtx_kind_push, 0, step, 1000500);
    known_nvtx(writer, MP_nvtx_kind_push, io, load, 1000600);
    known_nvtx(writer, MP_nvtx_kind_pop, io, 0, 1003500);
    known_nvtx(writer, MP_nvtx_kind_pop, 0, 0, 1020000);
    known_nvtx(writer, MP_nvtx_kind_push, 0, step, 2000500);
    known_nvtx(writer, MP_nvtx_kind_start, 0, open, 2003500);
    known_nvtx(writer, MP_nvtx_kind_pop, 0, 0, 3500000);
}

#endif
