/* Reading the application's memory without faults.
 *
 * A walk meets pointers that it has not made. It follows none of them before the kernel has shown
 * that memory is there: process_vm_readv copies, and fails where a load would end the program. That
 * is a system call, 0.3 us. So a thread remembers which pages it has shown to be mapped, and
 * believes it for MEMORY_TRUST walks; a load from such a page is a load.
 *
 * Live frames are in live memory. What is guarded against is memory that is not what the layout
 * says: other builds, overwritten frames.
 *
 * A signal handler comes while frames are made and freed. There nothing is loaded from where it
 * lies, and no page is trusted: with `copies` a walk sees what the kernel has copied.
 */
#ifndef MP_RECORD_STACKS_PYTHON_MEMORY_H
#define MP_RECORD_STACKS_PYTHON_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#define MEMORY_TRUST     16384u /* walks after which pages are shown again; a power of two */
#define MEMORY_PAGE_BITS 12u    /* no page is smaller */
#define MEMORY_SETS      256u   /* a power of two */
#define MEMORY_WAYS      4u

/* A thread's pages. Zeroes are none. */
struct known_pages {
    pid_t pid;
    bool copies;    /* nothing is loaded from where it lies */
    uint32_t hand;  /* the way that is given up next */
    uintptr_t last; /* the page that was asked for last: frames are neighbours */
    uintptr_t pages[MEMORY_SETS][MEMORY_WAYS];
};

/* Copies; false if not all of it is mapped. */
bool memory_copy(pid_t pid, void *to, uintptr_t from, size_t bytes);

/* The slow part of the below. */
bool memory_show_page(struct known_pages *known, uintptr_t page);

static inline bool memory_page_is_known(struct known_pages *known, uintptr_t page)
{
    const uintptr_t *set = known->pages[page % MEMORY_SETS];

    if (page == known->last)
        return true;
    if (set[0] != page && set[1] != page && set[2] != page && set[3] != page &&
        !memory_show_page(known, page))
        return false;
    known->last = page;
    return true;
}

/* Whether `bytes`, fewer than a page, can be loaded from there, at a multiple of 8. */
static inline bool memory_is_mapped(struct known_pages *known, uintptr_t at, size_t bytes)
{
    uintptr_t first = at >> MEMORY_PAGE_BITS;
    uintptr_t last = (at + bytes - 1) >> MEMORY_PAGE_BITS;

    return first && !(at & 7) && memory_page_is_known(known, first) &&
           (first == last || memory_page_is_known(known, last));
}

void memory_forget(struct known_pages *known);

/* Where `bytes` that lie at `at`, a multiple of 8, can be loaded: there, or in `copy`. 0: nowhere.
 */
static inline uintptr_t memory_view(struct known_pages *known, uintptr_t at, size_t bytes,
                                    void *copy)
{
    if (__builtin_expect(known->copies, 0))
        return !(at & 7) && memory_copy(known->pid, copy, at, bytes) ? (uintptr_t)copy : 0;
    return memory_is_mapped(known, at, bytes) ? at : 0;
}

/* Loads. Only from what is mapped. */
static inline uintptr_t load_word(uintptr_t at)
{
    uintptr_t value;

    memcpy(&value, (const void *)at, sizeof(value));
    return value;
}

static inline uint32_t load_number(uintptr_t at)
{
    uint32_t value;

    memcpy(&value, (const void *)at, sizeof(value));
    return value;
}

static inline uint8_t load_byte(uintptr_t at)
{
    return *(const uint8_t *)at;
}

#endif
