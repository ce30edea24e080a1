/* base/elf_symbols: in each object of this process, each of its hash tables has what dlsym finds
 * there, and nothing else.
 */
#include "base/elf_symbols.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/poison.h"

/* Of libc, also in two versions and as data; of the loader; of nobody. */
static const char *const names[] = {"read",     "pthread_cond_wait", "environ",
                                    "_r_debug", "__tls_get_addr",    "no_such_symbol_9"};

struct found {
    unsigned gnu, sysv; /* in how many objects */
};

/* Whether the object has what dlsym has found for the whole process. */
static bool is_in(const struct dl_phdr_info *object, const void *address)
{
    const uintptr_t at = (uintptr_t)address;

    for (unsigned i = 0; address && i < object->dlpi_phnum; i++)
        if (object->dlpi_phdr[i].p_type == PT_LOAD &&
            at - object->dlpi_addr - object->dlpi_phdr[i].p_vaddr < object->dlpi_phdr[i].p_memsz)
            return true;
    return false;
}

/* An object before it may have the name too: a sanitizer stands in front of libc. */
static bool agrees(const struct dl_phdr_info *object, const struct elf_symbols *symbols,
                   const char *text)
{
    const struct elf_name name = elf_name(text);
    const ElfW(Sym) *symbol = elf_symbols_find(symbols, &name);
    const char *expected = dlsym(RTLD_DEFAULT, text);

    if (is_in(object, expected)) {
        assert_non_null(symbol);
        assert_ptr_equal(object->dlpi_addr + symbol->st_value, expected);
    }
    return symbol;
}

static int look_at(struct dl_phdr_info *object, size_t bytes, void *context)
{
    struct found *found = context;
    struct elf_symbols symbols, one;

    (void)bytes;
    if (!elf_symbols_open_shown(&symbols, object))
        return 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        one = symbols;
        one.sysv_table = NULL;
        found->gnu += one.gnu_table && agrees(object, &one, names[i]);
        one = symbols;
        one.gnu_table = NULL;
        found->sysv += one.sysv_table && agrees(object, &one, names[i]);
    }
    return 0;
}

static void both_tables_agree_with_dlsym(void **state)
{
    struct found found = {0, 0};

    (void)state;
    dl_iterate_phdr(look_at, &found);
    assert_true(found.gnu >= 5);
    if (!found.sysv)
        print_message("no object here has System V's table\n");
}

static void an_object_without_tables_has_nothing(void **state)
{
    const struct elf_name name = elf_name("read");
    const ElfW(Dyn) end = {.d_tag = DT_NULL};
    struct elf_symbols symbols;

    (void)state;
    assert_false(elf_symbols_open(&symbols, &end, 0));
    assert_false(elf_symbols_open(&symbols, NULL, 0));
    assert_null(elf_symbols_find(&symbols, &name));
    assert_false(elf_symbols_need(&symbols, "read"));
}

/* The program comes first in the list. It calls this function of another library, and none of the
 * other name. */
static int look_at_program(struct dl_phdr_info *object, size_t bytes, void *context)
{
    struct elf_symbols symbols;

    (void)bytes;
    (void)context;
    assert_true(elf_symbols_open_shown(&symbols, object));
    assert_true(elf_symbols_need(&symbols, "_cmocka_run_group_tests"));
    assert_false(elf_symbols_need(&symbols, "no_such_symbol_9"));
    assert_false(elf_symbols_need(&symbols, ""));
    return 1;
}

static void an_object_needs_what_it_calls_of_others(void **state)
{
    (void)state;
    assert_int_equal(dl_iterate_phdr(look_at_program, NULL), 1);
}

/* By a program of its own, from the System V ABI's definition and that of GNU's hash. */
static void hashes_are_the_standards(void **state)
{
    (void)state;
    assert_int_equal(elf_name("").gnu, 0x1505);
    assert_int_equal(elf_name("printf").gnu, 0x156b2bb8);
    assert_int_equal(elf_name("").sysv, 0);
    assert_int_equal(elf_name("printf").sysv, 0x77905a6);
    assert_int_equal(elf_name("exit").sysv, 0x6cf04);
    assert_int_equal(elf_name("syscall").sysv, 0xb09985c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_tables_agree_with_dlsym),
        cmocka_unit_test(an_object_without_tables_has_nothing),
        cmocka_unit_test(an_object_needs_what_it_calls_of_others),
        cmocka_unit_test(hashes_are_the_standards),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
