/* functions.h: the host functions of run_programs' streams and graphs. Each takes its time, and may
 * post to an object while it runs (waits.h). The recorder is told of it (preload.h).
 */
#ifndef ORACLE_FUNCTIONS_H
#define ORACLE_FUNCTIONS_H

#include <cuda.h>
#include <stdint.h>

struct host_work;

/* A function that runs for `ns`, and posts to `object` after `post_ns`; -1: it does not post. It
 * stays for ever, since that of a graph may run again. */
struct host_work *functions_new(uint64_t ns, uint64_t post_ns, long object);

/* The calling thread gives it to the driver; NULL: it has given it. */
void functions_give(struct host_work *work);

/* What the driver calls, with the function as its data. */
void CUDA_CB functions_run(void *work);
void CUDA_CB functions_run_callback(CUstream stream, CUresult result, void *work);

#endif
