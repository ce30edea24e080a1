/* Where CPython keeps what a walk through a thread's frames reads.
 *
 * Up to 3.12 the offsets are those of x86-64 and aarch64 release builds (the headers of 3.8 to
 * 3.12, checked by tests/e2e/stacks.sh with the interpreters that are there). From 3.13 on the
 * interpreter tells them itself: _PyRuntime begins with _Py_DebugOffsets.
 */
#ifndef MP_RECORD_STACKS_PYTHON_LAYOUT_H
#define MP_RECORD_STACKS_PYTHON_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LAYOUT_NONE        UINT16_MAX
#define LAYOUT_CODE_BYTES  256u  /* a code object without its instructions takes less */
#define LAYOUT_DEBUG_BYTES 1024u /* of _Py_DebugOffsets that are looked at */

/* A walk shows this number of bytes to be mapped before it loads. So no field lies beyond them. */
#define LAYOUT_FRAME_BYTES 112u /* of a frame */
#define LAYOUT_STATE_BYTES 128u /* of a thread state */

/* How a code object says which line an instruction belongs to. */
enum line_table {
    LINE_TABLE_PAIRS,     /* co_lnotab: 3.8, 3.9 */
    LINE_TABLE_RANGES,    /* co_linetable of 3.10 */
    LINE_TABLE_LOCATIONS, /* co_linetable since 3.11 */
    LINE_TABLE_NONE       /* it was not kept: lines are unknown */
};

/* Offsets in bytes; LAYOUT_NONE: there is none. */
struct python_layout {
    bool objects;         /* frames are Python objects: before 3.11 */
    uint8_t lines;        /* enum line_table */
    uint8_t scale;        /* objects: bytes of an instruction number */
    uint16_t state_frame; /* in the thread state: the frame, or what has it */
    uint16_t inner_frame; /* in the latter: the frame */
    /* In a frame. */
    uint16_t previous;
    uint16_t code;
    uint16_t instruction;
    uint16_t owner;    /* since 3.11: 1 a generator's, 3 and more no function's */
    uint16_t is_entry; /* 3.11: a new evaluator began with it */
    /* In a code object. */
    uint16_t first_line;
    uint16_t file;
    uint16_t name;
    uint16_t table;
    uint16_t version;   /* a number that no other code object has had: since 3.12 */
    uint16_t traceable; /* the first instruction that counts, as an index */
    uint16_t bytes;     /* the instructions; for `objects`: the size */
    /* Sizes of what is before the characters of a compact string: ASCII only, and others. */
    uint16_t ascii;
    uint16_t wide;
};

/* The same in all versions. */
#define LAYOUT_TYPE       8u  /* of an object */
#define LAYOUT_SIZE       16u /* items of a variable object, characters of a string */
#define LAYOUT_BYTES_DATA 32u
#define LAYOUT_TEXT_STATE 32u

/* The layout of CPython 3.`minor`, 8 to 12; NULL for others. */
const struct python_layout *layout_of(unsigned minor);

/* From what _PyRuntime begins with. False if it is not _Py_DebugOffsets of this version, or if the
 * build is free-threaded, which *why then says. */
bool layout_from_offsets(struct python_layout *layout, const void *offsets, size_t bytes,
                         uint32_t version, const char **why);

/* ---- Line tables ----
 *
 * From an instruction of a Python function to its line, by the function's own table.
 */

/* The line of the instruction at byte `at`; 0 if it has none. `table` may be damaged. */
uint32_t lines_of(enum line_table kind, const uint8_t *table, size_t bytes, uint32_t first_line,
                  uint32_t at);

#endif
