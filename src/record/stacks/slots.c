/* The memory of the table of stacks by number. */
#include "record/stacks/slots.h"

#include <stddef.h>
#include <sys/mman.h>

#include "base/poison.h"

bool slots_open(struct stack_slots *slots)
{
    void *words = mmap(NULL, SLOTS * sizeof(*slots->words), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    slots->words = words == MAP_FAILED ? NULL : words;
    return slots->words != NULL;
}

void slots_close(struct stack_slots *slots)
{
    if (slots->words)
        munmap(slots->words, SLOTS * sizeof(*slots->words));
    slots->words = NULL;
}
