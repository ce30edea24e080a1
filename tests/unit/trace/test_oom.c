/* Writing and reading when memory runs out: every allocation of a run fails once, in turn, those of
 * zstd included. And what a damaged file may cost: not more than the intact one. */
#define ZSTD_STATIC_LINKING_ONLY /* ZSTD_customMem */
#include <zstd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "fuzz/seal.h"
#include "unit/failing_malloc.h"
#include "unit/trace_fixture.h"

/* ---- The allocator ---- */

static void *allocate_for_zstd(void *opaque, size_t bytes)
{
    (void)opaque;
    return __wrap_malloc(bytes);
}

static void free_for_zstd(void *opaque, void *memory)
{
    (void)opaque;
    free(memory);
}

/* These stand before those of the shared library. */
ZSTD_CCtx *ZSTD_createCCtx(void)
{
    return ZSTD_createCCtx_advanced((ZSTD_customMem){allocate_for_zstd, free_for_zstd, NULL});
}

ZSTD_DCtx *ZSTD_createDCtx(void)
{
    return ZSTD_createDCtx_advanced((ZSTD_customMem){allocate_for_zstd, free_for_zstd, NULL});
}

/* ---- Writing ---- */

#define KERNELS 1500 /* three sizes of the builder */

/* Writes a trace to `fd`; *in_file are the kernels that the writer says are there. */
static enum mp_status write_trace(int fd, uint64_t *in_file, struct mp_error *error)
{
    struct mp_writer *writer = NULL;
    struct mp_writer_options options = {.level = 1, .chunk_bytes = 4000};
    struct mp_writer_totals totals;
    uint64_t random = 1;
    *in_file = 0;
    enum mp_status status = mp_writer_open(dup(fd), FIXTURE_HEADER, &options, &writer, error);
    if (status) {
        assert_null(writer);
        return status;
    }
    for (uint64_t i = 0; i < KERNELS; i++) {
        if (i % 100 == 0)
            mp_append_string(writer, &(struct mp_row_string){i, {"a name to be copied", 19}});
        mp_append_kernel(
            writer, &(struct mp_row_kernel){.start = fixture_random(&random) >> 8, .duration = i});
        if (i == KERNELS / 2)
            mp_writer_flush(writer);
    }
    status = mp_writer_flush(writer);
    mp_writer_totals(writer, &totals);
    assert_int_equal(totals.event_rows + writer->lost_rows, KERNELS);
    assert_int_equal(status, writer->failure.status);
    *in_file = totals.event_rows;
    return mp_writer_close(writer, error);
}

static void a_writer_without_memory_counts_what_it_loses(void **state)
{
    (void)state;
    enum mp_status status = MP_ERR_MEMORY;
    unsigned failing;
    for (failing = 1; status != MP_OK; failing++) {
        struct mp_error error = {.text = ""};
        uint64_t in_file;
        int fd = fixture_file(NULL, 0);
        countdown = failing;
        status = write_trace(fd, &in_file, &error);
        bool failed = countdown == 0;
        countdown = 0;
        assert_int_equal(status, failed ? MP_ERR_MEMORY : MP_OK);
        assert_int_equal(error.status, status);
        size_t size;
        free(fixture_file_bytes(fd, &size));
        if (size)
            assert_int_equal(fixture_rows(fd, MP_TABLE_kernel), in_file);
        else
            assert_int_equal(in_file, 0);
        close(fd);
    }
    assert_true(failing > 10);
}

/* ---- Reading ---- */

static void a_reader_without_memory_says_so_and_ends(void **state)
{
    (void)state;
    struct fixture_reading reading;
    struct fixture_reading whole;
    int fd = fixture_file(NULL, 0);
    fixture_small_trace(fd);
    fixture_read(fd, &whole);
    reading.status = MP_ERR_MEMORY;
    unsigned failing;
    for (failing = 1; reading.status != MP_END; failing++) {
        countdown = failing;
        fixture_read(fd, &reading);
        bool failed = countdown == 0;
        countdown = 0;
        assert_int_equal(reading.status, failed ? MP_ERR_MEMORY : MP_END);
        assert_true(reading.chunks <= whole.chunks); /* what came before is as it was */
        assert_memory_equal(reading.hash, whole.hash, reading.chunks * sizeof(uint64_t));
    }
    assert_true(failing > 20);
    assert_int_equal(reading.chunks, whole.chunks);
    close(fd);
}

/* ---- What a file may cost ---- */

#define LOOKING_BYTES (256u << 10) /* of the buffer for the next header, and how it grows */

static size_t cost_of_reading(int fd)
{
    struct fixture_reading reading;
    allocated_bytes = 0;
    fixture_read(fd, &reading);
    assert_true(reading.status != MP_ERR_MEMORY);
    return allocated_bytes;
}

static void damage_costs_no_more_than_the_intact_file(void **state)
{
    (void)state;
    size_t size;
    int fd = fixture_file(NULL, 0);
    fixture_small_trace(fd);
    size_t max = cost_of_reading(fd) + LOOKING_BYTES;
    uint8_t *bytes = fixture_file_bytes(fd, &size);
    for (size_t at = 0; at < size; at++) {
        uint8_t was = bytes[at];
        bytes[at] ^= (uint8_t)(at % 3 ? 0x80 : 0xFF);
        fixture_file_set(fd, bytes, size);
        bytes[at] = was;
        assert_true(cost_of_reading(fd) <= max);
        fixture_file_set(fd, bytes, at);
        assert_true(cost_of_reading(fd) <= max);
    }
    free(bytes);
    close(fd);
}

/* A header whose checksum fits may claim the greatest chunk there is; and no more. */
static void the_greatest_claim_costs_what_the_format_allows(void **state)
{
    (void)state;
    uint8_t file[1024];
    const uint8_t raw[] = {1, 1, MP_CODEC_NUMBER, 0, 0, 0, 0, 0, 2, MP_LAYOUT_CONSTANT, 1};
    const uint32_t claim = MP_MAX_CHUNK_RAW_BYTES;
    size_t size = seal_file_header(file, "", 0, MP_FORMAT_VERSION, 0);
    struct seal_claims claims = {0, MP_TABLE_device, MP_MAX_CHUNK_ROWS};
    size_t chunk = seal_chunk(file + size, sizeof file - size, claims, raw, sizeof raw);
    int fd = fixture_file(file, size + chunk);
    size_t rows_cost = cost_of_reading(fd);
    /* The one column that is there, the zeros of the others, and a decompressor. */
    assert_true(rows_cost < 2 * sizeof(uint64_t) * MP_MAX_CHUNK_ROWS + (1u << 20));
    memcpy(file + size + 28, &claim, sizeof claim);
    seal_chunk_header(file + size);
    fixture_file_set(fd, file, size + chunk);
    assert_true(cost_of_reading(fd) < 2 * MP_MAX_CHUNK_RAW_BYTES + (1u << 20));
    close(fd);
}

/* The last eight bytes say how long the index is: they may say anything. */
static void an_index_that_is_none_costs_nothing(void **state)
{
    (void)state;
    enum { FILE_BYTES = 8 << 20 };
    uint8_t *file = calloc(1, FILE_BYTES);
    const uint64_t index_bytes = FILE_BYTES - 100;
    seal_file_header(file, "", 0, MP_FORMAT_VERSION, 0);
    memcpy(file + FILE_BYTES - 8, &index_bytes, 8);
    int fd = fixture_file(file, FILE_BYTES);
    assert_true(cost_of_reading(fd) < 1u << 20);
    free(file);
    close(fd);
}

/* An index frame of that many entries, whose length fits, at the end of the file. Whether its
 * checksum fits is said by who fills the entries in. */
static void put_index(int fd, uint32_t entries, const struct mp_index_entry *entry)
{
    const size_t entry_bytes = entries * sizeof *entry;
    const off_t begin = lseek(fd, 0, SEEK_END);
    const off_t end = begin + 32 + (off_t)entry_bytes + 16;
    uint64_t tail[2] = {0, 32 + entry_bytes + 16};
    struct mp_index_header header = {.skippable_magic = MP_SKIPPABLE_MAGIC,
                                     .skippable_bytes = (uint32_t)(tail[1] - 8),
                                     .magic = MP_INDEX_MAGIC,
                                     .entries = entries};
    assert_int_equal(pwrite(fd, &header, 32, begin), 32);
    if (entry) {
        uint8_t *sealed = malloc(24 + entry_bytes);
        memcpy(sealed, header.magic, 24);
        memcpy(sealed + 24, entry, entry_bytes);
        tail[0] = XXH64(sealed, 24 + entry_bytes, 0);
        assert_int_equal(pwrite(fd, entry, entry_bytes, begin + 32), entry_bytes);
        free(sealed);
    }
    assert_int_equal(pwrite(fd, tail, 16, end - 16), 16);
}

static bool has_index(int fd)
{
    struct mp_trace *trace;
    struct mp_index index;
    assert_int_equal(mp_trace_open(fixture_path(fd), &trace, NULL), MP_OK);
    mp_trace_index(trace, &index);
    mp_trace_close(trace);
    return index.present;
}

/* All lengths of the index fit; its entries are a hole in the file, which takes no room on disk. */
static void an_index_of_a_sparse_file_costs_nothing(void **state)
{
    (void)state;
    uint8_t header[64];
    size_t size = seal_file_header(header, "", 0, MP_FORMAT_VERSION, 0);
    int fd = fixture_file(header, size);
    put_index(fd, 32 << 20, NULL); /* 1.3 GB of entries */
    allocated_bytes = 0;
    assert_false(has_index(fd));
    assert_true(allocated_bytes < 64u << 10);
    close(fd);
}

/* A million chunks that are not there: a right index of 40 MB. */
static void a_long_index_costs_as_little_as_a_short_one(void **state)
{
    (void)state;
    enum { ENTRIES = 1 << 20, CHUNK_BYTES = 100 };
    struct mp_index_entry *entries = calloc(ENTRIES, sizeof *entries);
    uint8_t header[64];
    size_t size = seal_file_header(header, "", 0, MP_FORMAT_VERSION, 0);
    int fd = fixture_file(header, size);
    for (uint32_t i = 0; i < ENTRIES; i++)
        entries[i] = (struct mp_index_entry){.offset = size + (uint64_t)i * CHUNK_BYTES,
                                             .packed_bytes = CHUNK_BYTES - SEAL_HEADER_BYTES,
                                             .rows = 1};
    put_index(fd, ENTRIES, entries);
    allocated_bytes = 0;
    assert_true(has_index(fd));
    assert_true(allocated_bytes < 64u << 10);
    free(entries);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_writer_without_memory_counts_what_it_loses),
        cmocka_unit_test(a_reader_without_memory_says_so_and_ends),
        cmocka_unit_test(damage_costs_no_more_than_the_intact_file),
        cmocka_unit_test(the_greatest_claim_costs_what_the_format_allows),
        cmocka_unit_test(an_index_that_is_none_costs_nothing),
        cmocka_unit_test(an_index_of_a_sparse_file_costs_nothing),
        cmocka_unit_test(a_long_index_costs_as_little_as_a_short_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
