/* values.h: values in memory that streams write and wait for (values.py). */
#ifndef ORACLE_VALUES_H
#define ORACLE_VALUES_H

#include <cuda.h>

#include "lines.h"

/* Allocates them, which is one call of the driver. */
CUresult values_make(void);

/* Makes the call of a line, whose stream has been read. */
CUresult values_put(struct line *line, CUstream stream);

#endif
