/* An allocator that a test can make fail. The linker redirects malloc and its kin to it
 * (tests/tests.mk) in all code of a unit test's program, but not in libc.
 */
#ifndef TESTS_UNIT_FAILING_MALLOC_H
#define TESTS_UNIT_FAILING_MALLOC_H

#include <stdbool.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/status.h"

extern unsigned countdown;             /* allocations until one fails; 0: none fails */
extern _Atomic size_t allocated_bytes; /* in all, freed or not: an upper bound of those in use */

/* malloc as the tested code has it, for a library that takes an allocator of its caller. */
void *__wrap_malloc(size_t bytes);

/* Runs `step` until no allocation is left to fail; it failed at least `least` times. A name that
 * cannot be demangled for want of memory may stay as it is, so not every failure ends it. */
static inline void expect_memory_errors_of(enum mp_status (*step)(struct mp_error *), unsigned min)
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
    assert_true(failing > min);
}

#endif
