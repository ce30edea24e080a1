/* Rows of the stacks that threads have taken (stacks/stacks.h): `code`, `module`, `frame` and
 * `stack`, each written once, before the first row that names it, and again after a cut of the
 * file.
 *
 * A frame in the file is a line, where a place in memory is an instruction. The line is looked up
 * here, so it costs the application nothing, and several places and stacks may become one.
 *
 * Owned by the writer thread.
 */
#ifndef MP_RECORD_ROWS_STACK_ROWS_H
#define MP_RECORD_ROWS_STACK_ROWS_H

#include "base/data/map.h"
#include "record/names/dictionary.h"
#include "record/stacks/gaps.h"
#include "record/stacks/stacks.h"

struct stack_rows {
    struct stacks *stacks; /* NULL: none are taken */
    struct dictionary *dictionary;
    uint32_t *stack_ids; /* in the file, by the store's number; 0: not there yet */
    uint32_t *code_ids;
    uint32_t *module_ids;
    uint32_t stack_capacity, code_capacity, module_capacity;
    struct mp_intern frames, chains; /* what is in the file, by content */
    uint32_t code_count, module_count;
    uint64_t lost; /* numbers that another call has taken over, and stacks without memory */
};

/* The number in the file of the stack of a call, by its correlation id, or of a node of a graph, by
 * its number of origins.h; 0: it has none. `rows` may be NULL. */
uint32_t stack_rows_of_call(struct stack_rows *rows, uint32_t correlation);
uint32_t stack_rows_of_node(struct stack_rows *rows, uint32_t number);

/* The same of a sample. */
uint32_t stack_rows_of_sample(struct stack_rows *rows, struct gaps *gaps,
                              const struct gap_sample *sample);

/* The file was cut. */
void stack_rows_restart(struct stack_rows *rows);

/* Stacks that were lost up to now. */
uint64_t stack_rows_lost(const struct stack_rows *rows);

void stack_rows_close(struct stack_rows *rows);

#endif
