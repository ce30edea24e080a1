/* The probe's child: does the work of one round in this process and writes the answer. */
#ifndef MP_CALIBRATE_PROBE_H
#define MP_CALIBRATE_PROBE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "calibrate/driver.h"
#include "calibrate/measures.h"

struct probe {
    struct driver driver;
    FILE *answer;
    bool failed;
    void *stream;
    void *empty; /* kernels: does nothing */
    void *spin;  /* runs for so many us */
    void *events[3];
    void *host;              /* pinned memory; its first word is set by a kernel that begins */
    uint64_t device[2];      /* device memory, two buffers */
    unsigned cycles_each_us; /* of the multiprocessors' clock, nearly */
    bool blind;              /* kernels do not say when they begin */
};

#define PROBE_COPY_BYTES 4096

/* Notes a failure of the driver, the first one only; true if `result` is success. */
bool probe_succeeds(struct probe *probe, int result, const char *what);

/* The driver, a context, two kernels, and memory. False after a failure, which is noted. */
bool probe_set_up(struct probe *probe, int device);

/* Launches, each of one thread. `flag`: memory that the kernel sets to 1 when it begins, or NULL.
 */
bool probe_launch_empty(struct probe *probe);
bool probe_launch_spin(struct probe *probe, unsigned us, volatile uint32_t *flag);

/* A graph of `nodes` kernels in a chain: empty ones, or those that spin for `us`. NULL: failed. */
void *probe_make_graph(struct probe *probe, unsigned nodes, unsigned us, volatile uint32_t *flag);

bool probe_wait(struct probe *probe);

/* The same, and a rest in which the recorder's writer takes what the thread left for it. */
bool probe_settle(struct probe *probe);

/* Writes samples. */
void probe_say_calls(struct probe *probe, enum measure measure, uint64_t begin, uint64_t end,
                     unsigned count);
void probe_say_time(struct probe *probe, enum measure measure, double ns);

/* The three groups of measures; false after a failure, which is noted. */
bool probe_calls(struct probe *probe);
bool probe_device(struct probe *probe);
bool probe_trips(struct probe *probe);

#endif
