/* malloc and its kin as the linker puts them before the tested code (failing_malloc.h): all succeed
 * until a test sets `countdown`. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>

#include "unit/failing_malloc.h"

unsigned countdown;
_Atomic size_t allocated_bytes;

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *memory, size_t bytes);
void *__real_reallocarray(void *memory, size_t count, size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);
void *__wrap_reallocarray(void *memory, size_t count, size_t bytes);

static bool must_fail(size_t count, size_t bytes)
{
    if (countdown && --countdown == 0)
        return true;
    atomic_fetch_add_explicit(&allocated_bytes, count * bytes, memory_order_relaxed);
    return false;
}

void *__wrap_malloc(size_t bytes)
{
    return must_fail(1, bytes) ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    return must_fail(count, bytes) ? NULL : __real_calloc(count, bytes);
}

void *__wrap_realloc(void *memory, size_t bytes)
{
    return must_fail(1, bytes) ? NULL : __real_realloc(memory, bytes);
}

void *__wrap_reallocarray(void *memory, size_t count, size_t bytes)
{
    return must_fail(count, bytes) ? NULL : __real_reallocarray(memory, count, bytes);
}
