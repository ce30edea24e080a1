/* Addresses on a stack become modules and offsets; the truth is what dladdr says of them. */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "record/stacks/native.h"

#include "base/poison.h"

static struct stack_store store;

static uint64_t native(uintptr_t address)
{
    return PLACE_NATIVE | address;
}

static void expect_place(uint64_t place, uintptr_t address, const char *path)
{
    const struct stored_module *module = store_module_get(&store, PLACE_MODULE(place));
    Dl_info info;

    assert_int_not_equal(dladdr((void *)address, &info), 0);
    assert_true(PLACE_IS_NATIVE(place));
    assert_int_equal(PLACE_ADDRESS(place), address - (uintptr_t)info.dli_fbase);
    assert_non_null(module);
    assert_int_equal(module->path_bytes, strlen(path));
    assert_memory_equal(module + 1, path, strlen(path));
}

/* One of this program, one of libc that no sanitizer stands before, one of nowhere, and one of
 * Python, which is left as it is. */
static void places_are_those_that_the_linker_knows(void **state)
{
    const uint64_t of_python = UINT64_C(7) << 32 | 42;
    const uintptr_t own = (uintptr_t)expect_place, libc = (uintptr_t)dlsym(RTLD_DEFAULT, "lfind");
    uint64_t places[] = {native(own), native(libc), native(own + 1), native(16), of_python};
    static struct native_search search;
    char program[4096] = "";
    Dl_info info;

    (void)state;
    store_open(&store);
    assert_true(readlink("/proc/self/exe", program, sizeof program - 1) > 0);
    assert_int_not_equal(dladdr((void *)libc, &info), 0);
    assert_int_equal(native_place(&search, &store, places, 5), 0);
    expect_place(places[0], own, program);
    expect_place(places[1], libc, info.dli_fname);
    expect_place(places[2], own + 1, program);
    assert_int_equal(PLACE_MODULE(places[0]), PLACE_MODULE(places[2]));
    assert_int_equal(places[3], native(16));
    assert_int_equal(places[4], of_python);
    store_close(&store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places_are_those_that_the_linker_knows),
    };

    return cmocka_run_group_tests_name("record/native", tests, NULL, NULL);
}
