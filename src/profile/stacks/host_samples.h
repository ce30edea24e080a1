/* Where threads were while they computed for long without a CUDA call: the table `host_sample`
 * (MINIPROF_STACKS_GAPS).
 *
 *     struct host_samples samples;
 *     host_samples_load(&samples, trace, &error);
 *     rest = host_samples_share(&samples, thread, begin, end, use_share, context);
 *
 * Memory: 32 bytes a sample.
 */
#ifndef MP_PROFILE_STACKS_HOST_SAMPLES_H
#define MP_PROFILE_STACKS_HOST_SAMPLES_H

#include <miniprof/trace.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct host_sample {
    uint64_t time;      /* when it was taken */
    uint64_t computing; /* CPU time that it stands for, before that; ns */
    uint32_t thread;    /* its number in the trace */
    uint32_t stack;     /* of call_stacks.h; 0: none */
    uint32_t gil;       /* enum mp_gil */
};

struct host_samples {
    struct host_sample *items; /* by thread, then by time; owned */
    size_t count, capacity;
};

/* Reads them. MP_ERR_IO, MP_ERR_MEMORY; host_samples_free is needed in any case. */
enum mp_status host_samples_load(struct host_samples *samples, struct mp_trace *trace,
                                 struct mp_error *error);
void host_samples_free(struct host_samples *samples);

/* Divides a gap of a thread: each sample in it that has a stack gets what it stands for. Answers
 * what is left, in ns, of the gap: time that no sample stands for. */
typedef void host_samples_use(void *context, uint32_t stack, uint64_t ns);
uint64_t host_samples_share(const struct host_samples *samples, uint64_t thread, uint64_t begin,
                            uint64_t end, host_samples_use *use, void *context);

#endif
