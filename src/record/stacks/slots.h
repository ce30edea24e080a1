/* Which stack belongs to a call or to a node of a graph, by its number: a table into which any
 * thread puts and from which the writer takes.
 *
 * Numbers are given one after the other and asked for soon. So the newest takes the place of the
 * one that is SLOTS older. Nobody waits: a slot is one word. Memory is mapped at the start and
 * touched as it is used.
 */
#ifndef MP_RECORD_STACKS_SLOTS_H
#define MP_RECORD_STACKS_SLOTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define SLOTS ((uint32_t)1 << 20) /* 8 MiB; at 300,000 calls a second those of 3 s */

struct stack_slots {
    _Atomic uint64_t *words; /* number in the upper half, the stack in the lower */
};

bool slots_open(struct stack_slots *slots);
void slots_close(struct stack_slots *slots);

static inline void slots_put(struct stack_slots *slots, uint32_t number, uint32_t stack)
{
    atomic_store_explicit(&slots->words[number % SLOTS], (uint64_t)number << 32 | stack,
                          memory_order_release);
}

/* The stack; 0: none was put. `*lost`: one may have been, but a later number has its place. */
static inline uint32_t slots_get(const struct stack_slots *slots, uint32_t number, bool *lost)
{
    uint64_t word = atomic_load_explicit(&slots->words[number % SLOTS], memory_order_acquire);
    uint32_t has = (uint32_t)(word >> 32);

    *lost = word && (int32_t)(has - number) > 0;
    return has == number ? (uint32_t)word : 0;
}

#endif
