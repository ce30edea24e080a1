/* digest_build and the screen when memory runs out: every allocation fails once, in turn. What is
 * left behind, a sanitizer finds (make SAN=address check).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "reports/digest/print.h"
#include "unit/deps/deps_fixture.h"
#include "unit/failing_malloc.h"

enum { ITERATIONS = 12 };

static int write_trace(void)
{
    int fd = fixture_file("", 0);
    uint64_t correlation = 0;

    scene_begin();
    for (uint64_t i = 0; i < ITERATIONS; i++) {
        uint64_t begin = 1000 + 1000 * i;

        put_nvtx(MP_nvtx_kind_push, 1, NULL, "it", begin, 0);
        put_launch(1, "first", begin + 10, begin + 100, begin + 150, ++correlation);
        put_launch(1, "second", begin + 30, begin + 160, begin + 200, ++correlation);
        put_stream_sync(1, begin + 60, begin + 300, ++correlation);
        put_nvtx(MP_nvtx_kind_pop, 1, NULL, NULL, begin + 310, 0);
    }
    scene_write(fd);
    return fd;
}

static void fail_screen_in_turn(const struct digest *digest)
{
    const struct digest_report report = {.digests = digest, .count = 1};
    enum mp_status status = MP_ERR_MEMORY;

    for (unsigned turn = 1; status != MP_OK; turn++) {
        FILE *out = fopen("/dev/null", "w");

        assert_non_null(out);
        countdown = turn;
        status = print_digest_text(out, &report);
        countdown = 0;
        fclose(out);
        assert_true(status == MP_OK || status == MP_ERR_MEMORY);
    }
}

static void every_allocation_may_fail(void **state)
{
    int fd = write_trace();
    const struct digest_options options = {.path = fixture_path(fd)};
    enum mp_status status = MP_ERR_MEMORY;
    unsigned turn;

    (void)state;
    for (turn = 1; status != MP_OK; turn++) {
        struct mp_error error = {.status = MP_OK};
        struct mp_trace *trace;
        struct digest digest;

        assert_int_equal(mp_trace_open(fixture_path(fd), &trace, &error), MP_OK);
        countdown = turn;
        status = digest_build(trace, &options, &digest, &error);
        countdown = 0;
        mp_trace_close(trace);
        if (status == MP_OK) {
            assert_int_equal(digest.iterations.count, ITERATIONS);
            assert_int_equal(digest.latency.p50, 310000);
            assert_int_equal(digest.hot_all, 2);
            fail_screen_in_turn(&digest);
        } else {
            assert_int_equal(status, MP_ERR_MEMORY);
            assert_true(*error.text != '\0');
        }
        digest_free(&digest);
    }
    assert_true(turn > 100);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_may_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
