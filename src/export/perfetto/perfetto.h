/* The format `perfetto`: a .pftrace for Perfetto's UI and trace processor, or a .zip of them.
 *
 *     perfetto.c    the format's hooks       packets.h   packets, numbers for texts, into a file
 *     gpu.c         work of the GPU          proto.h     the wire format of protocol buffers
 *     host.c        calls, NVTX, waits       slices.h    slices that nest, on tracks
 *     counters.c    memory, metrics          links.h     event ids: who launched, who waited
 *     insights.c    path, iterations, advice zip.h       several processes in one file
 *     gpus.c        the GPUs of all processes
 *
 * docs/export.md says what stands where. The numbers of fields are Perfetto's (fields.h).
 */
#ifndef MP_EXPORT_PERFETTO_PERFETTO_H
#define MP_EXPORT_PERFETTO_PERFETTO_H

#include "export/common/format.h"

extern const struct export_format export_perfetto;

#endif
