/* The parts of the program steps: programs/steps.c has the steps that call CUDA, graphs.c those
 * that make graphs, host.c the others.
 */
#ifndef E2E_STEPS_H
#define E2E_STEPS_H

#include <cuda.h>
#include <stdbool.h>
#include <stddef.h>

struct step_row {
    const char *name;
    void (*run)(const char *value);
};

extern const struct step_row host_steps[];
extern const size_t host_step_count;
extern const struct step_row graph_steps[];
extern const size_t graph_step_count;

/* NAME or NAME=VALUE; an unknown one ends the program. Any thread. */
void run_step(const char *step);

/* The stream in use, and a kernel of the device in use. */
CUstream steps_stream(void);
CUfunction steps_kernel(const char *name);

/* The whole of `value`, or the program ends. */
long number(const char *value);

#endif
