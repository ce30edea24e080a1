/* green.h: a stream of a green context. */
#ifndef ORACLE_GREEN_H
#define ORACLE_GREEN_H

#include <cuda.h>

/* Makes a green context with all SMs of the device, and a non-blocking stream of it; with headers
 * that do not know green contexts only the stream. Counts the calls that it makes. The program ends
 * if one of them fails. */
void green_stream(CUstream *stream, CUdevice device, unsigned long *calls);

#endif
