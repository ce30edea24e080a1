/* Kineto's JSON (torch.profiler's format), which HTA, TraceLens, Perfetto and chrome://tracing
 * read, and the plain JSON array of old viewers. docs/export.md says what each record becomes.
 *
 *     kineto   {"schemaVersion": 1, "deviceProperties": [...], "distributedInfo": {"rank": 0, ...},
 *               ..., "traceEvents": [events], ...}
 *     chrome   [events]
 *
 * The events are the same, one a line. Times are microseconds with three decimals since the
 * midnight (UTC) before the first record of all traces of the export. So ranks that are exported
 * together, or on one day, lie right beside each other, and a double holds the times exactly.
 *
 * Rows are written as they come. Memory, besides that of rows and analyses: the escaped names, 4
 * bytes an activity for what each call launched, 40 bytes for each pair of iteration and stream,
 * and 48 for each CUDA event.
 */
#ifndef MP_EXPORT_KINETO_KINETO_H
#define MP_EXPORT_KINETO_KINETO_H

#include "export/common/format.h"

extern const struct export_format export_kineto;
extern const struct export_format export_chrome;

#endif
