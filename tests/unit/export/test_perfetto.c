/* Perfetto's packets: lengths of nested messages, the .zip, and slices of which the first and the
 * last begin or end together. What whole files hold: tests/exports/test_perfetto.py.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/data/storage.h"
#include "export/perfetto/build.h"
#include "export/perfetto/zip.h"
#include "reports/deps/deps.h"

/* ---- Messages ---- */

static void expect_varint(const uint8_t **at, const uint8_t *end, uint64_t expected)
{
    uint64_t value = 0;

    assert_true(mp_varint_get(at, end, &value));
    assert_int_equal(value, expected);
}

static void expect_nested(const uint8_t *at, const uint8_t *end, size_t bytes)
{
    uint64_t length = 0;

    expect_varint(&at, end, 1 << 3 | PROTO_LENGTH);
    assert_true(mp_varint_get(&at, end, &length));
    assert_int_equal(length, (size_t)(end - at));
    expect_varint(&at, end, 1000 << 3 | PROTO_LENGTH);
    expect_varint(&at, end, bytes);
    at += bytes;
    expect_varint(&at, end, 2 << 3);
    expect_varint(&at, end, 7);
    assert_ptr_equal(at, end);
}

/* A message of `bytes` bytes in a message: both lengths are right, whatever room they take. */
static void check_nested(size_t bytes)
{
    struct mp_buffer buffer = {.data = NULL};
    uint8_t *content = calloc(1, bytes + 1);
    size_t outer, inner;

    assert_non_null(content);
    outer = proto_begin(&buffer, 1);
    inner = proto_begin(&buffer, 1000);
    mp_buffer_append(&buffer, content, bytes);
    proto_end(&buffer, inner);
    proto_uint(&buffer, 2, 7);
    proto_end(&buffer, outer);
    assert_int_equal(buffer.status, MP_OK);
    expect_nested(buffer.data, buffer.data + buffer.size, bytes);
    mp_buffer_free(&buffer);
    free(content);
}

static void test_lengths_of_messages(void **state)
{
    static const size_t sizes[] = {0, 1, 117, 118, 119, 127, 128, 16383, 16384, 70000, 2100000};

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        check_nested(sizes[i]);
}

/* ---- Slices ---- */

static void correlate_nothing(void *context, uint32_t activity)
{
    (void)context;
    (void)activity;
}

struct written {
    struct packets packets;
    struct slices slices;
    struct track track;
};

static void set_up_track(struct written *written, FILE *out)
{
    *written = (struct written){.packets = {.out = out, .sequence = 1}};
    written->slices = (struct slices){
        .packets = &written->packets, .next_uuid = 1, .correlate = correlate_nothing};
    written->track = (struct track){.name = "calls"};
}

/* Writes slices in this order and answers on how many tracks they are. */
static uint64_t tracks_of(const uint64_t (*spans)[2], size_t count, bool nests)
{
    FILE *out = tmpfile();
    struct written written;
    uint64_t tracks;

    assert_non_null(out);
    set_up_track(&written, out);
    for (size_t i = 0; i < count; i++) {
        struct slice slice = {.start = spans[i][0],
                              .duration = spans[i][1] - spans[i][0],
                              .name = 1,
                              .activity = DEPS_NONE,
                              .category = CATEGORY_WAIT,
                              .nests = nests};

        assert_int_equal(track_add(&written.slices, &written.track, &slice), MP_OK);
    }
    assert_int_equal(track_flush(&written.slices, &written.track), MP_OK);
    assert_int_equal(packets_flush(&written.packets), MP_OK);
    tracks = written.slices.next_uuid - 1;
    track_free(&written.track);
    packets_free(&written.packets);
    fclose(out);
    return tracks;
}

static void test_slices_that_nest_share_a_track(void **state)
{
    static const uint64_t inner_first[][2] = {{5, 10}, {12, 20}, {5, 20}, {20, 20}, {20, 30}};
    static const uint64_t crossing[][2] = {{5, 15}, {10, 20}, {12, 20}, {15, 25}};

    (void)state;
    assert_int_equal(tracks_of(inner_first, 5, false), 1);
    assert_int_equal(tracks_of(crossing, 4, false), 2);
}

/* After many others, only what is known to nest comes on the same track. */
static void test_late_slices(void **state)
{
    uint64_t spans[2001][2];

    (void)state;
    for (size_t i = 0; i < 2000; i++) {
        spans[i][0] = 10 + 2 * i;
        spans[i][1] = spans[i][0] + 2;
    }
    spans[2000][0] = 5;
    spans[2000][1] = 5000;
    assert_int_equal(tracks_of(spans, 2001, true), 1);
    assert_int_equal(tracks_of(spans, 2001, false), 2);
}

/* ---- Zip ---- */

static void test_zip_wants_a_file(void **state)
{
    struct zip zip;
    int ends[2];
    FILE *out;

    (void)state;
    assert_int_equal(pipe(ends), 0);
    out = fdopen(ends[1], "w");
    assert_non_null(out);
    assert_int_equal(zip_begin(&zip, out), MP_ERR_ARGUMENT);
    assert_non_null(strstr(zip.why, "-o"));
    zip_free(&zip);
    fclose(out);
    close(ends[0]);
}

static void test_zip_has_an_end(void **state)
{
    FILE *out = tmpfile();
    struct zip zip;

    (void)state;
    assert_non_null(out);
    assert_int_equal(zip_begin(&zip, out), MP_OK);
    zip.at = UINT32_MAX - UINT64_C(40); /* as if so much had been written */
    assert_int_equal(zip_write(&zip, "0123456789", 10), MP_OK);
    assert_int_equal(zip_write(&zip, "0123456789012345678901234567890123456789", 40), MP_ERR_LIMIT);
    assert_non_null(strstr(zip.why, "4 GiB"));
    assert_int_equal(zip_end(&zip), MP_ERR_LIMIT);
    zip_free(&zip);
    fclose(out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lengths_of_messages),
        cmocka_unit_test(test_slices_that_nest_share_a_track),
        cmocka_unit_test(test_late_slices),
        cmocka_unit_test(test_zip_wants_a_file),
        cmocka_unit_test(test_zip_has_an_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
