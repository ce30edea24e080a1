/* An allocator that fails when it is told to. The linker redirects malloc and its kin to it in
 * programs called test_*_oom (tests/tests.mk), not in libc; each includes this file once.
 */
#ifndef TESTS_UNIT_FAILING_MALLOC_H
#define TESTS_UNIT_FAILING_MALLOC_H

#include <stdbool.h>
#include <stddef.h>

static unsigned countdown; /* allocations until one fails; 0: none fails */

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *memory, size_t bytes);
void *__real_reallocarray(void *memory, size_t count, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);
void *__wrap_reallocarray(void *memory, size_t count, size_t bytes);

static bool must_fail(void)
{
    return countdown && --countdown == 0;
}

void *__wrap_malloc(size_t bytes)
{
    return must_fail() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    return must_fail() ? NULL : __real_calloc(count, bytes);
}

void *__wrap_realloc(void *memory, size_t bytes)
{
    return must_fail() ? NULL : __real_realloc(memory, bytes);
}

void *__wrap_reallocarray(void *memory, size_t count, size_t bytes)
{
    return must_fail() ? NULL : __real_reallocarray(memory, count, bytes);
}

#endif
