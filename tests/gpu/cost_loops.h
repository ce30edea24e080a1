/* What single calls cost the thread that makes them, on a GPU: short batches of one call each,
 * timed from outside. A library, so that the same code runs in a program of its own (cost.c) and
 * inside a Python process (cost_torch.py), where torch.profiler can be put around it.
 *
 * One thread. An error of CUDA ends the process with a line that names the call.
 */
#ifndef TESTS_GPU_COST_LOOPS_H
#define TESTS_GPU_COST_LOOPS_H

/* Loads the kernel, makes the graph and runs each batch once. */
#pragma GCC visibility push(default)
void cost_open(void);

/* How many kinds of batches there are, and what they are called; NULL beyond. */
int cost_count(void);
const char *cost_name(int kind);

/* Runs one batch; ns a call. Queued work has ended on return, but is not in the time: except for
 * the graph, where it is, since the time of the device is what changes there. */
double cost_batch(int kind);

/* What cudaProfilerStart and cudaProfilerStop do. */
void cost_begin_range(void);
void cost_end_range(void);
#pragma GCC visibility pop

#endif
