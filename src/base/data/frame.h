/* Texts inside the program that are packed, for they would take much of it: tools/dev/frame. */
#ifndef MP_BASE_DATA_FRAME_H
#define MP_BASE_DATA_FRAME_H

#include <stddef.h>

/* What a frame holds, with a NUL behind it; *length: bytes without that. The caller frees it. NULL:
 * out of memory. */
char *mp_frame_unpack(const unsigned char *frame, size_t bytes, size_t *length);

#endif
