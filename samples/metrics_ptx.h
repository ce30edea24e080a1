/*
 * metrics_ptx.h: the kernels of metrics.c, as text that the driver compiles. What each one does,
 * and its parameters, is said in metrics_ptx.c.
 */
#ifndef SAMPLES_METRICS_PTX_H
#define SAMPLES_METRICS_PTX_H

/* What a trip of flops_sp and flops_dp executes in each thread, and what it adds to the value. */
enum { TRIP_ADDS = 3, TRIP_MULS = 2, TRIP_FMAS = 6 };
#define TRIP_GAIN 9.5

extern const char metrics_ptx[];

#endif
