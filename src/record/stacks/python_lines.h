/* From an instruction of a Python function to its line, by the function's own table. */
#ifndef MP_RECORD_PYTHON_LINES_H
#define MP_RECORD_PYTHON_LINES_H

#include <stddef.h>
#include <stdint.h>

#include "record/stacks/python_layout.h"

/* The line of the instruction at byte `at`; 0 if it has none. `table` may be damaged. */
uint32_t lines_of(enum line_table kind, const uint8_t *table, size_t bytes, uint32_t first_line,
                  uint32_t at);

#endif
