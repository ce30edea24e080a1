/* An allocator that fails when it is told to. The linker redirects malloc and its kin to it in
 * programs called test_*_oom (tests/tests.mk), not in libc; each includes this file once.
 */
#ifndef TESTS_UNIT_FAILING_MALLOC_H
#define TESTS_UNIT_FAILING_MALLOC_H

#include <stdbool.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/status.h"

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

/* Runs `step` until no allocation is left to fail; it failed at least `least` times. A name that
 * cannot be demangled for want of memory may stay as it is, so not every failure ends it. */
static inline void expect_memory_errors_of(enum mp_status (*step)(struct mp_error *),
                                           unsigned least)
{
    enum mp_status status = MP_ERR_MEMORY;
    unsigned failing;

    for (failing = 1; status != MP_OK; failing++) {
        struct mp_error error = {.text = ""};
        bool failed;

        countdown = failing;
        status = step(&error);
        failed = countdown == 0;
        countdown = 0;
        if (!failed || status != MP_OK)
            assert_int_equal(status, failed ? MP_ERR_MEMORY : MP_OK);
        assert_true(!status == !*error.text);
        if (failed)
            status = MP_ERR_MEMORY;
    }
    assert_true(failing > least);
}

#endif
