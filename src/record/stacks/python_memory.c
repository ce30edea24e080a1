/* What the kernel says of the application's memory: process_vm_readv from the process itself. */
#include "record/stacks/python_memory.h"

#include <errno.h>
#include <sys/uio.h>

#include "base/poison.h"

bool memory_copy(pid_t pid, void *to, uintptr_t from, size_t bytes)
{
    struct iovec here = {to, bytes};
    struct iovec there = {(void *)from, bytes};
    int before = errno;
    bool whole = process_vm_readv(pid, &here, 1, &there, 1, 0) == (ssize_t)bytes;

    errno = before;
    return whole;
}

bool memory_show_page(struct known_pages *known, uintptr_t page)
{
    char byte;

    if (!memory_copy(known->pid, &byte, page << MEMORY_PAGE_BITS, sizeof(byte)))
        return false;
    known->pages[page % MEMORY_SETS][known->hand++ % MEMORY_WAYS] = page;
    return true;
}

void memory_forget(struct known_pages *known)
{
    memset(known->pages, 0, sizeof(known->pages));
    known->last = 0;
}
