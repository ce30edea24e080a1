/* What ran at the same time, by device and stream, as text, CSV and JSON. */
#ifndef MP_REPORTS_OVERLAP_PRINT_H
#define MP_REPORTS_OVERLAP_PRINT_H

#include <miniprof/trace.h>

#include "reports/overlap/overlap.h"
#include "table/table.h"

/* The whole report of `miniprof overlap`: the head, the tables of each device, the notes. If
 * `range` is not 0, the report says that it covers this capture range. */
void print_overlap(const struct report_out *out, const struct mp_trace *trace,
                   const struct overlap *overlap, uint64_t range);

/* ---- Its three tables: activities, kernels at the same time, streams ---- */

/* Names of activities, for people and as keys. */
extern const char *const overlap_titles[OVERLAP_ACTIVITIES];
extern const char *const overlap_keys[OVERLAP_ACTIVITIES];

#define OVERLAP_DEVICE_BYTES 96

/* `H100 (0)`, or `unknown`. Returns `text`. */
const char *overlap_device_text(const struct overlap_device *device,
                                char text[OVERLAP_DEVICE_BYTES]);

/* Each prints its table of these devices, in CSV with a column for the device. The table of kernels
 * is printed if any ran. */
void overlap_print_activities(const struct report_out *out, const struct overlap *overlap,
                              const struct overlap_device *devices, size_t count);
void overlap_print_kernels(const struct report_out *out, const struct overlap_device *devices,
                           size_t count);
void overlap_print_streams(const struct report_out *out, const struct overlap *overlap,
                           const struct overlap_device *devices, size_t count);

/* `part` of `whole` in percent; 0 if `whole` is 0. */
double overlap_percent(uint64_t part, uint64_t whole);

#endif
