/* Finding chunks by their magic and checksum, in files that are damaged. */
#ifndef MP_TRACE_READ_SCAN_H
#define MP_TRACE_READ_SCAN_H

#include "base/status.h"

#include <miniprof/format.h>
#include <stdbool.h>
#include <stdint.h>

/* Whether these bytes were written as a chunk header: the checksum says so. */
bool mp_chunk_header_intact(const struct mp_chunk_header *header);

/* Offset of the first intact chunk header that lies whole between `from` and `end`; `end` if there
 * is none. MP_ERR_IO, MP_ERR_MEMORY. */
enum mp_status mp_scan_chunk(int fd, uint64_t from, uint64_t end, uint64_t *found);

#endif
