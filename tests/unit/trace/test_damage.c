/* Damaged files: cut at every byte, every byte changed, bytes put in and taken out, parts swapped
 * and joined. Whatever was not touched is delivered as it was, and one line says that something
 * was. The short part tries every third bit, and takes out one of five lengths at each byte.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "unit/sweep.h"
#include "unit/trace_fixture.h"

/* Sanitizers make a reading ten times as slow; there the bits are tried in turn. */
#ifdef __SANITIZE_ADDRESS__
#define BIT_STEP 3
#else
#define BIT_STEP sweep(1, 3)
#endif

/* The intact trace. */
static struct {
    uint8_t *bytes;
    size_t size;
    struct fixture_extent chunk[FIXTURE_MAX_CHUNKS];
    unsigned chunks;
    struct fixture_reading reading;
} whole;

static int damaged_fd;

static int set_up(void **state)
{
    (void)state;
    int fd = fixture_file(NULL, 0);
    fixture_small_trace(fd);
    whole.bytes = fixture_file_bytes(fd, &whole.size);
    whole.chunks = fixture_extents(whole.bytes, whole.size, whole.chunk, FIXTURE_MAX_CHUNKS);
    fixture_read(fd, &whole.reading);
    close(fd);
    damaged_fd = fixture_file(NULL, 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    free(whole.bytes);
    close(damaged_fd);
    return 0;
}

static void expect_one_line(const char *text)
{
    size_t length = strlen(text);
    assert_in_range(length, 10, 300);
    for (size_t i = 0; i < length; i++)
        assert_true(text[i] >= ' ');
}

/* Reads `bytes`, of whose chunks those with a set bit in `lost` were touched: they come as they
 * were or not at all, all others come. Returns whether all came. */
static bool expect_untouched(const uint8_t *bytes, size_t size, uint64_t lost)
{
    struct fixture_reading reading;
    fixture_file_set(damaged_fd, bytes, size);
    fixture_read(damaged_fd, &reading);
    assert_int_equal(reading.status, MP_END);
    unsigned next = 0;
    uint64_t rows = 0;
    for (unsigned i = 0; i < whole.chunks; i++) {
        if (next < reading.chunks && reading.hash[next] == whole.reading.hash[i]) {
            next++;
            rows += whole.chunk[i].rows;
        } else if (!(lost >> i & 1)) {
            fail_msg("chunk %u was not delivered", i);
        }
    }
    assert_int_equal(next, reading.chunks); /* and nothing else came */
    assert_int_equal(rows, reading.rows);
    bool all = next == whole.chunks;
    if (reading.damaged)
        expect_one_line(reading.line);
    else
        assert_true(all);
    return all;
}

/* The chunks that the bytes from `begin` to `end` touch. */
static uint64_t touched(size_t begin, size_t end)
{
    uint64_t chunks = 0;
    for (unsigned i = 0; i < whole.chunks; i++)
        if (begin < whole.chunk[i].end && end > whole.chunk[i].begin)
            chunks |= UINT64_C(1) << i;
    return chunks;
}

/* The same for bytes taken out. Where the byte behind them equals the first of them, nobody can
 * tell that the piece did not begin one byte later. */
static uint64_t touched_by_removal(size_t begin, size_t end)
{
    uint64_t chunks = touched(begin, end);
    while (end < whole.size && whole.bytes[begin] == whole.bytes[end])
        chunks |= touched(++begin, ++end);
    return chunks;
}

/* The first `head` bytes, `middle`, and all from `tail` on. */
static uint8_t *spliced(size_t head, const void *middle, size_t middle_bytes, size_t tail,
                        size_t *size)
{
    *size = head + middle_bytes + whole.size - tail;
    uint8_t *bytes = malloc(*size + 1);
    assert_non_null(bytes);
    memcpy(bytes, whole.bytes, head);
    memcpy(bytes + head, middle, middle_bytes);
    memcpy(bytes + head + middle_bytes, whole.bytes + tail, whole.size - tail);
    return bytes;
}

static void expect_splice(size_t head, const void *middle, size_t middle_bytes, size_t tail,
                          uint64_t lost)
{
    size_t size;
    uint8_t *bytes = spliced(head, middle, middle_bytes, tail, &size);
    expect_untouched(bytes, size, lost);
    free(bytes);
}

static void the_trace_to_be_damaged_is_whole(void **state)
{
    (void)state;
    const uint32_t rows[] = {4, 2, 2, 1, 2, 151, 151, 152, 152, 153, 153, 1, 1};
    assert_int_equal(whole.reading.status, MP_END);
    assert_false(whole.reading.damaged);
    assert_int_equal(whole.chunks, sizeof rows / sizeof *rows);
    assert_int_equal(whole.reading.chunks, whole.chunks);
    assert_int_equal(whole.reading.rows, 4 + 2 + 2 + 1 + 2 + 2 * (151 + 152 + 153) + 1 + 1);
    for (unsigned i = 0; i < whole.chunks; i++)
        assert_int_equal(whole.chunk[i].rows, rows[i]);
}

static void cut_anywhere_it_gives_all_complete_chunks(void **state)
{
    (void)state;
    struct fixture_reading reading;
    for (size_t cut = 0; cut < whole.size; cut++) {
        fixture_file_set(damaged_fd, whole.bytes, cut);
        fixture_read(damaged_fd, &reading);
        if (cut < whole.chunk[0].begin) {
            assert_int_equal(reading.status, cut < 32 ? MP_ERR_FORMAT : MP_ERR_DAMAGED);
            expect_one_line(reading.error.text);
            continue;
        }
        assert_int_equal(reading.status, MP_END);
        unsigned complete = 0;
        uint64_t rows = 0;
        while (complete < whole.chunks && whole.chunk[complete].end <= cut)
            rows += whole.chunk[complete++].rows;
        assert_int_equal(reading.chunks, complete);
        assert_memory_equal(reading.hash, whole.reading.hash, complete * sizeof(uint64_t));
        assert_int_equal(reading.rows, rows);
        assert_true(reading.damage.no_index);
        assert_true(reading.damaged);
        expect_one_line(reading.line);
        size_t end = complete ? whole.chunk[complete - 1].end : whole.chunk[0].begin;
        assert_int_equal(reading.damage.bytes_skipped, cut - end);
        assert_int_equal(reading.damage.first_offset, cut > end ? end : 0);
    }
}

static void a_changed_byte_costs_its_chunk_at_most(void **state)
{
    (void)state;
    unsigned unnoticed = 0;
    for (size_t at = whole.chunk[0].begin; at < whole.size; at++) {
        uint64_t lost = touched(at, at + 1);
        bool header = false;
        for (unsigned i = 0; i < whole.chunks; i++)
            header |= at >= whole.chunk[i].begin && at < whole.chunk[i].frame;
        for (unsigned bit = header ? at % BIT_STEP : at % 8; bit < 8;
             bit += header ? BIT_STEP : 8) {
            whole.bytes[at] ^= (uint8_t)(1u << bit);
            unnoticed += lost && expect_untouched(whole.bytes, whole.size, lost);
            whole.bytes[at] ^= (uint8_t)(1u << bit);
        }
    }
    /* A zstd frame has a bit that readers must not look at (RFC 8878, 3.1.1.1.1.3), and of the
     * window size a small frame needs little. */
    assert_true(unnoticed <= 4 * whole.chunks);
}

static void a_byte_set_to_zero_or_ones_costs_its_chunk_at_most(void **state)
{
    (void)state;
    for (size_t at = whole.chunk[0].begin; at < whole.size; at += BIT_STEP) {
        uint8_t was = whole.bytes[at];
        whole.bytes[at] = at % 2 && was ? 0 : 0xFF;
        expect_untouched(whole.bytes, whole.size, touched(at, at + 1));
        whole.bytes[at] = was;
    }
}

static void a_changed_header_costs_the_properties_only(void **state)
{
    (void)state;
    struct fixture_reading reading;
    for (size_t at = 0; at < whole.chunk[0].begin; at++)
        for (unsigned bit = at % BIT_STEP; bit < 8; bit += BIT_STEP) {
            whole.bytes[at] ^= (uint8_t)(1u << bit);
            assert_true(expect_untouched(whole.bytes, whole.size, 0));
            fixture_read(damaged_fd, &reading);
            whole.bytes[at] ^= (uint8_t)(1u << bit);
            assert_true(reading.damage.header_lost);
            assert_non_null(strstr(reading.line, "its header is lost"));
        }
}

static void a_changed_header_without_chunks_is_refused_in_one_line(void **state)
{
    (void)state;
    struct fixture_reading reading;
    for (size_t at = 0; at < whole.chunk[0].begin; at++)
        for (unsigned bit = 0; bit < 8; bit++) {
            whole.bytes[at] ^= (uint8_t)(1u << bit);
            fixture_file_set(damaged_fd, whole.bytes, whole.chunk[0].begin);
            fixture_read(damaged_fd, &reading);
            whole.bytes[at] ^= (uint8_t)(1u << bit);
            assert_true(reading.status == MP_ERR_FORMAT || reading.status == MP_ERR_DAMAGED);
            assert_int_equal(reading.status, reading.error.status);
            expect_one_line(reading.error.text);
        }
}

static void bytes_put_in_cost_one_chunk_at_most(void **state)
{
    (void)state;
    uint8_t garbage[500];
    static const size_t counts[] = {1, 7, 72, 500};
    memset(garbage, 0x5D, sizeof garbage); /* the first byte of the magic, again and again */
    for (size_t at = whole.chunk[0].begin; at < whole.size; at += 11)
        for (unsigned i = 0; i < 4; i++)
            expect_splice(at, garbage, counts[i], at, touched(at - (at > 0), at + 1));
}

static void bytes_taken_out_cost_the_chunks_they_belonged_to(void **state)
{
    (void)state;
    static const size_t counts[] = {1, 7, 30, 72, 200};
    for (size_t at = whole.chunk[0].begin; at < whole.size; at++)
        for (unsigned i = sweep(0, (unsigned)at % 5); i < 5; i += sweep(1, 5)) {
            size_t end = at + counts[i] < whole.size ? at + counts[i] : whole.size;
            expect_splice(at, "", 0, end, touched_by_removal(at, end));
        }
}

static void a_run_of_zeros_costs_the_chunks_it_covers(void **state)
{
    (void)state;
    static const uint8_t zeros[512]; /* a sector that was never written */
    for (size_t at = whole.chunk[0].begin; at + sizeof zeros < whole.size; at += 13)
        expect_splice(at, zeros, sizeof zeros, at + sizeof zeros, touched(at, at + sizeof zeros));
}

static void swapped_chunks_are_all_delivered(void **state)
{
    (void)state;
    struct fixture_reading reading;
    const struct fixture_extent *a = &whole.chunk[5];
    const struct fixture_extent *b = &whole.chunk[6];
    uint8_t *bytes = malloc(whole.size);
    memcpy(bytes, whole.bytes, whole.size);
    memcpy(bytes + a->begin, whole.bytes + b->begin, b->end - b->begin);
    memcpy(bytes + a->begin + (b->end - b->begin), whole.bytes + a->begin, a->end - a->begin);
    fixture_file_set(damaged_fd, bytes, whole.size);
    fixture_read(damaged_fd, &reading);
    assert_int_equal(reading.status, MP_END);
    assert_int_equal(reading.chunks, whole.chunks);
    assert_int_equal(reading.rows, whole.reading.rows);
    assert_int_equal(reading.hash[5], whole.reading.hash[6]);
    assert_int_equal(reading.hash[6], whole.reading.hash[5]);
    free(bytes);
}

static void what_follows_the_end_is_passed_over(void **state)
{
    (void)state;
    struct fixture_reading reading;
    uint64_t random = 1;
    uint8_t garbage[3000];
    for (unsigned i = 0; i < sizeof garbage; i++)
        garbage[i] = (uint8_t)fixture_random(&random);
    for (size_t count = 1; count <= sizeof garbage; count = count * 2 + 1)
        expect_splice(whole.size, garbage, count, whole.size, 0);

    size_t size; /* another trace behind it: all chunks of both */
    uint8_t *twice = spliced(whole.size, whole.bytes, whole.size, whole.size, &size);
    fixture_file_set(damaged_fd, twice, size);
    fixture_read(damaged_fd, &reading);
    assert_int_equal(reading.status, MP_END);
    assert_int_equal(reading.chunks, 2 * whole.chunks);
    assert_int_equal(reading.rows, 2 * whole.reading.rows);
    assert_true(reading.damaged);
    free(twice);
}

/* Tables that are not selected are passed over by their lengths, which damage makes wrong. */
static void damage_in_unselected_tables_does_not_hide_others(void **state)
{
    (void)state;
    struct mp_trace *trace;
    struct mp_cursor *cursor;
    struct mp_batch batch;
    size_t size;
    const struct fixture_extent *call = &whole.chunk[6]; /* followed by kernels of the next round */
    uint8_t *bytes = spliced(call->frame + 5, "", 0, call->frame + 15, &size);
    fixture_file_set(damaged_fd, bytes, size);
    assert_int_equal(mp_trace_open(fixture_path(damaged_fd), &trace, NULL), MP_OK);
    assert_int_equal(mp_cursor_open(trace, &cursor, NULL), MP_OK);
    size_t count;
    const struct mp_table_info *tables = mp_tables(&count);
    for (size_t i = 0; i < count; i++)
        if (tables[i].id != MP_TABLE_kernel)
            mp_cursor_select(cursor, &tables[i], 0);
    uint32_t rows = 0;
    while (mp_cursor_next(cursor, &batch) == MP_OK)
        rows += batch.rows;
    assert_int_equal(rows, 151 + 152 + 153);
    mp_cursor_close(cursor);
    mp_trace_close(trace);
    free(bytes);
}

static void chunks_are_verified_only_on_demand(void **state)
{
    (void)state;
    struct mp_trace *trace;
    struct mp_cursor *cursor;
    struct mp_chunk chunk;
    struct mp_damage damage;
    unsigned chunks = 0;
    size_t at = whole.chunk[7].end - 1; /* the frame's own checksum */
    whole.bytes[at] ^= 1;
    fixture_file_set(damaged_fd, whole.bytes, whole.size);
    whole.bytes[at] ^= 1;
    assert_int_equal(mp_trace_open(fixture_path(damaged_fd), &trace, NULL), MP_OK);
    assert_int_equal(mp_cursor_open(trace, &cursor, NULL), MP_OK);
    while (mp_cursor_next_chunk(cursor, &chunk, false) == MP_OK)
        assert_int_equal(chunk.offset, whole.chunk[chunks++].begin);
    assert_int_equal(chunks, whole.chunks);
    mp_cursor_rewind(cursor);
    for (chunks = 0; mp_cursor_next_chunk(cursor, &chunk, true) == MP_OK; chunks++)
        assert_int_not_equal(chunk.offset, whole.chunk[7].begin);
    assert_int_equal(chunks, whole.chunks - 1);
    mp_cursor_damage(cursor, &damage);
    assert_int_equal(damage.chunks_damaged, 1);
    assert_int_equal(damage.rows_damaged, whole.chunk[7].rows);
    assert_int_equal(damage.first_offset, whole.chunk[7].begin);
    mp_cursor_rewind(cursor);
    mp_cursor_damage(cursor, &damage);
    assert_int_equal(damage.chunks_damaged, 0);
    mp_cursor_close(cursor);
    mp_trace_close(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_trace_to_be_damaged_is_whole),
        cmocka_unit_test(cut_anywhere_it_gives_all_complete_chunks),
        cmocka_unit_test(a_changed_byte_costs_its_chunk_at_most),
        cmocka_unit_test(a_byte_set_to_zero_or_ones_costs_its_chunk_at_most),
        cmocka_unit_test(a_changed_header_costs_the_properties_only),
        cmocka_unit_test(a_changed_header_without_chunks_is_refused_in_one_line),
        cmocka_unit_test(bytes_put_in_cost_one_chunk_at_most),
        cmocka_unit_test(bytes_taken_out_cost_the_chunks_they_belonged_to),
        cmocka_unit_test(a_run_of_zeros_costs_the_chunks_it_covers),
        cmocka_unit_test(swapped_chunks_are_all_delivered),
        cmocka_unit_test(what_follows_the_end_is_passed_over),
        cmocka_unit_test(damage_in_unselected_tables_does_not_hide_others),
        cmocka_unit_test(chunks_are_verified_only_on_demand),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
