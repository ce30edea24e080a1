/* diff_build and its page when memory runs out: every allocation fails once, in turn. What is left
 * behind, a sanitizer finds (make SAN=address check).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <unistd.h>

#include "page/diff.h"
#include "reports/diff/diff.h"
#include "unit/deps/deps_fixture.h"
#include "unit/failing_malloc.h"

enum { ITERATIONS = 12, KERNELS = 5 };

/* Kernels and ranges have the names of this letter in part. */
static void put_program(char letter)
{
    char name[16];
    uint64_t correlation = 0;

    for (uint64_t i = 0; i < ITERATIONS; i++) {
        uint64_t begin = 1000 + 1000 * i;

        put_nvtx(MP_nvtx_kind_push, 1, NULL, "it", begin, 0);
        for (uint64_t k = 0; k < KERNELS; k++) {
            snprintf(name, sizeof name, "%c%u", k % 2 ? letter : 'k', (unsigned)k);
            put_nvtx(MP_nvtx_kind_push, 1, "layers", name, begin + 10 * k + 1, 0);
            put_launch(1, name, begin + 10 * k + 2, begin + 100 + 20 * k, begin + 115 + 20 * k,
                       ++correlation);
            put_nvtx(MP_nvtx_kind_pop, 1, "layers", NULL, begin + 10 * k + 8, 0);
        }
        put_stream_sync(1, begin + 60, begin + 300, ++correlation);
        put_nvtx(MP_nvtx_kind_pop, 1, NULL, NULL, begin + 310, 0);
    }
}

static int write_trace(char letter, char *path, size_t size)
{
    int fd = fixture_file("", 0);

    scene_begin();
    put_program(letter);
    scene_write(fd);
    snprintf(path, size, "%s", fixture_path(fd));
    return fd;
}

/* Sorted latencies and chosen iterations, of each side. */
static void fail_page_in_turn(const struct diff *diff)
{
    enum mp_status status = MP_ERR_MEMORY;
    unsigned turn;

    for (turn = 1; status != MP_OK; turn++) {
        FILE *out = fopen("/dev/null", "w");

        assert_non_null(out);
        countdown = turn;
        status = html_diff_latencies(out, diff, 0);
        countdown = 0;
        fclose(out);
        assert_true(status == MP_OK || status == MP_ERR_MEMORY);
    }
    assert_int_equal(turn, 6);
}

static void fail_in_turn(const char *a, const char *b, const struct diff_options *options)
{
    enum mp_status status = MP_ERR_MEMORY;

    for (unsigned turn = 1; status != MP_OK; turn++) {
        struct mp_error error = {.status = MP_OK};
        struct diff diff;

        countdown = turn;
        status = diff_build(&a, 1, &b, 1, options, &diff, &error);
        countdown = 0;
        if (status == MP_OK) {
            assert_true(turn > 100);
            assert_int_equal(diff.kernels.count, 7);
            assert_int_equal(diff.layers.count, 8);
            fail_page_in_turn(&diff);
            diff_free(&diff);
        } else {
            assert_int_equal(status, MP_ERR_MEMORY);
            assert_true(*error.text != '\0');
            assert_null(diff.sides[DIFF_A].runs);
        }
    }
}

static void every_allocation_may_fail(void **state)
{
    const struct diff_options by_name = {.shapes = false};
    const struct diff_options by_shape = {.shapes = true};
    char a[64], b[64];
    int before = write_trace('x', a, sizeof a);
    int after = write_trace('y', b, sizeof b);

    (void)state;
    fail_in_turn(a, b, &by_name);
    fail_in_turn(a, b, &by_shape);
    close(before);
    close(after);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_may_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
