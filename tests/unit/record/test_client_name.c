/* Whose CUPTI it may be, by the libraries that are loaded: copies of a library that does nothing,
 * under the names by which clients are known. */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "record/cupti/subscriber.h"

#include "base/poison.h"

enum { PATH_BYTES = 128, MAX_LOADED = 4 };

static char folder[] = "/tmp/miniprof-client-name.XXXXXX";
static void *loaded[MAX_LOADED];
static size_t count;
static char path[PATH_BYTES]; /* of the last one */

static void copy_to(const char *to)
{
    static char bytes[1 << 20];
    Dl_info library;
    FILE *in, *out;
    size_t size;

    assert_true(dladdr((const void *)_assert_true, &library));
    in = fopen(library.dli_fname, "rb");
    out = fopen(to, "wb");
    assert_true(in && out);
    size = fread(bytes, 1, sizeof bytes, in);
    assert_true(size > 0 && feof(in));
    assert_int_equal(fwrite(bytes, 1, size, out), size);
    fclose(in);
    fclose(out);
}

static void load(const char *file)
{
    assert_true(snprintf(path, sizeof path, "%s/%s", folder, file) < (int)sizeof path);
    copy_to(path);
    loaded[count] = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(loaded[count++]);
    unlink(path);
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder);
}

static int unload(void **state)
{
    (void)state;
    while (count)
        dlclose(loaded[--count]);
    return 0;
}

static void expect(const char *name, enum client_habit habit)
{
    char text[CLIENT_NAME_BYTES] = "";
    struct client client;

    if (*name)
        snprintf(text, sizeof text, "%s ('%s')", name, path);
    client_find(&client);
    assert_string_equal(client.name, text);
    assert_int_equal(client.habit, habit);
}

static void without_a_known_library_there_is_no_name(void **state)
{
    (void)state;
    expect("", CLIENT_UNKNOWN);
}

static void our_own_libraries_are_no_client(void **state)
{
    (void)state;
    load("libminiprof_preload.so");
    load("libminiprof.so");
    expect("", CLIENT_UNKNOWN);
}

static void a_client_has_the_name_of_its_library(void **state)
{
    (void)state;
    load("libminiprof_preload.so");
    load("libtorch_cpu.so");
    expect("torch.profiler", CLIENT_STAYS);
}

static void one_that_unsubscribes_leaves(void **state)
{
    (void)state;
    load("xla_cuda_plugin.so");
    expect("jax.profiler", CLIENT_LEAVES);
}

/* The most certain one is named, but it may be any of them. */
static void of_several_clients_the_last_habit_counts(void **state)
{
    char torch[PATH_BYTES];

    (void)state;
    load("libtorch_cpu.so");
    memcpy(torch, path, sizeof torch);
    load("xla_cuda_plugin.so");
    memcpy(path, torch, sizeof path);
    expect("torch.profiler", CLIENT_LEAVES);
    load("libToolsInjection64.so");
    expect("Nsight Systems", CLIENT_UNKNOWN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(without_a_known_library_there_is_no_name, unload),
        cmocka_unit_test_teardown(our_own_libraries_are_no_client, unload),
        cmocka_unit_test_teardown(a_client_has_the_name_of_its_library, unload),
        cmocka_unit_test_teardown(one_that_unsubscribes_leaves, unload),
        cmocka_unit_test_teardown(of_several_clients_the_last_habit_counts, unload),
    };

    return cmocka_run_group_tests_name("record/client_name", tests, make_folder, remove_folder);
}
