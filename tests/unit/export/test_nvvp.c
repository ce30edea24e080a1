/* nvprof's files, written and read back: every table and column comes back as it was,
 * and what fails leaves nothing behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "export/nvvp/nvvp.h"
#include "export/nvvp/schema.h"
#include "unit/trace_fixture.h"

#define HEADER                                                                                     \
    "miniprof=test\npid=4711\nclock=monotonic\nstart_clock_ns=1000\n"                              \
    "start_realtime_ns=1700000000000000000\nempty=\nodd=a=b\tc\n"
#define OFFSET UINT64_C(1699999999999999000)

static char folder[] = "/tmp/test_nvvp.XXXXXX";

static const char *in_folder(const char *name)
{
    static char paths[4][96];
    static unsigned next;
    char *path = paths[next++ % 4];

    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static unsigned files_in_folder(void)
{
    DIR *open = opendir(folder);
    unsigned count = 0;

    assert_non_null(open);
    for (struct dirent *entry; (entry = readdir(open));)
        count += entry->d_name[0] != '.';
    closedir(open);
    return count;
}

static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder); /* every test took away what it made */
}

/* ---- Traces as rows ---- */

/* All rows of one table, column by column, texts as where they end in `text`. */
struct rows {
    uint64_t *columns[MP_MAX_COLUMNS];
    uint64_t count;
    char *text;
    size_t text_bytes;
};

/* Room for the rows of all batches of a table. */
static void make_room(struct rows *rows, const struct mp_table_info *table, uint64_t count)
{
    for (unsigned i = 0; i < table->column_count; i++) {
        rows->columns[i] = realloc(rows->columns[i], count * sizeof(uint64_t));
        assert_non_null(rows->columns[i]);
    }
}

static void collect_text(struct rows *rows, unsigned column, const struct mp_batch *batch)
{
    size_t bytes = batch->text_end[batch->rows - 1];

    rows->text = realloc(rows->text, rows->text_bytes + bytes + 1);
    assert_non_null(rows->text);
    memcpy(rows->text + rows->text_bytes, batch->text, bytes);
    for (uint32_t i = 0; i < batch->rows; i++)
        rows->columns[column][rows->count + i] = rows->text_bytes + batch->text_end[i];
    rows->text_bytes += bytes;
}

static void collect(struct rows *rows, const struct mp_batch *batch)
{
    make_room(rows, batch->table, rows->count + batch->rows);
    for (unsigned i = 0; i < batch->table->column_count; i++) {
        if (batch->columns[i])
            memcpy(rows->columns[i] + rows->count, batch->columns[i],
                   batch->rows * sizeof(uint64_t));
        else
            collect_text(rows, i, batch);
    }
    rows->count += batch->rows;
}

static struct mp_trace *open_trace(int fd)
{
    struct mp_error error;
    struct mp_trace *trace;

    if (mp_trace_open(fixture_path(fd), &trace, &error) != MP_OK)
        fail_msg("%s", error.text);
    return trace;
}

static void collect_all(struct mp_trace *trace, struct rows *tables)
{
    struct mp_cursor *cursor;
    struct mp_batch batch;
    struct mp_damage damage;
    char line[256];
    size_t count;

    memset(tables, 0, MP_TABLE_COUNT * sizeof *tables);
    assert_int_equal(mp_cursor_open(trace, &cursor, NULL), MP_OK);
    while (mp_cursor_next(cursor, &batch) == MP_OK)
        collect(&tables[batch.table - mp_tables(&count)], &batch);
    mp_cursor_damage(cursor, &damage);
    assert_false(mp_damage_describe(&damage, line, sizeof line));
    mp_cursor_close(cursor);
}

static void free_rows(struct rows *tables)
{
    for (unsigned t = 0; t < MP_TABLE_COUNT; t++) {
        for (unsigned i = 0; i < MP_MAX_COLUMNS; i++)
            free(tables[t].columns[i]);
        free(tables[t].text);
    }
}

static void expect_same_table(const struct mp_table_info *info, const struct rows *a,
                              const struct rows *b)
{
    if (a->count != b->count)
        fail_msg("%s: %llu rows instead of %llu", info->name, (unsigned long long)b->count,
                 (unsigned long long)a->count);
    for (unsigned i = 0; i < info->column_count; i++)
        for (uint64_t row = 0; row < a->count; row++)
            if (a->columns[i][row] != b->columns[i][row])
                fail_msg("%s.%s, row %llu: %llx instead of %llx", info->name, info->columns[i].name,
                         (unsigned long long)row, (unsigned long long)b->columns[i][row],
                         (unsigned long long)a->columns[i][row]);
    assert_int_equal(a->text_bytes, b->text_bytes);
    if (a->text_bytes)
        assert_memory_equal(a->text, b->text, a->text_bytes);
}

static void expect_same_header(const struct mp_trace *a, const struct mp_trace *b)
{
    const char *key_a, *value_a, *key_b, *value_b;
    size_t i = 0;

    for (; mp_trace_property_at(a, i, &key_a, &value_a); i++) {
        assert_true(mp_trace_property_at(b, i, &key_b, &value_b));
        assert_string_equal(key_a, key_b);
        assert_string_equal(value_a, value_b);
    }
    assert_false(mp_trace_property_at(b, i, &key_b, &value_b));
}

static void write_as(int fd, const char *path)
{
    struct mp_trace *trace = open_trace(fd);
    struct mp_error error;

    if (nvvp_write(trace, path, &error) != MP_OK)
        fail_msg("%s", error.text);
    mp_trace_close(trace);
}

static int read_from(const char *path)
{
    struct mp_error error;
    int fd = fixture_file(NULL, 0);

    if (nvvp_read(path, fd, &error) != MP_OK)
        fail_msg("%s", error.text);
    return fd;
}

static void expect_round_trip(int fd)
{
    static struct rows before[MP_TABLE_COUNT], after[MP_TABLE_COUNT];
    const char *path = in_folder("round.nvvp");
    struct mp_trace *a, *b;
    struct mp_index index_a, index_b;
    size_t count;
    const struct mp_table_info *tables = mp_tables(&count);
    int back;

    write_as(fd, path);
    assert_true(nvvp_is(path));
    back = read_from(path);
    a = open_trace(fd);
    b = open_trace(back);
    collect_all(a, before);
    collect_all(b, after);
    for (size_t i = 0; i < count; i++)
        expect_same_table(&tables[i], &before[i], &after[i]);
    expect_same_header(a, b);
    mp_trace_index(a, &index_a);
    mp_trace_index(b, &index_b);
    assert_int_equal(index_a.rows, index_b.rows);
    assert_int_equal(index_a.dropped, index_b.dropped);
    free_rows(before);
    free_rows(after);
    mp_trace_close(a);
    mp_trace_close(b);
    close(back);
    unlink(path);
}

static void write_all_tables(int fd, enum fixture_shape shape, uint32_t rows, uint64_t seed)
{
    struct mp_writer *writer = fixture_writer(fd, HEADER, 0);
    size_t count;
    const struct mp_table_info *tables = mp_tables(&count);

    mp_writer_set_dropped(writer, 7);
    for (size_t i = 0; i < count; i++) {
        struct fixture_rows table;

        fixture_rows_make(&table, &tables[i], rows, shape, seed + i);
        for (uint32_t row = 0; row < rows; row++)
            fixture_append(writer, &table, row);
        fixture_rows_free(&table);
    }
    assert_int_equal(mp_writer_close(writer, NULL), MP_OK);
}

/* Values of all kinds in every column of every table: also such as no recorder writes, with
 * references to nothing, ids twice, texts that are no UTF-8. */
static void every_table_comes_back(void **state)
{
    static const uint32_t rows[] = {1, 40, 700};

    (void)state;
    for (unsigned shape = 0; shape < FIXTURE_SHAPES; shape++)
        for (unsigned i = 0; i < 3; i++) {
            int fd = fixture_file(NULL, 0);

            write_all_tables(fd, shape, rows[i], 1000 * shape + i);
            expect_round_trip(fd);
            close(fd);
        }
}

static void small_and_empty_traces_come_back(void **state)
{
    int small = fixture_file(NULL, 0), empty = fixture_file(NULL, 0);

    (void)state;
    fixture_small_trace(small);
    expect_round_trip(small);
    mp_writer_close(fixture_writer(empty, "", 0), NULL);
    expect_round_trip(empty);
    close(small);
    close(empty);
}

static void times_convert_both_ways(void **state)
{
    static const uint64_t offsets[] = {0, 1, OFFSET, 0 - OFFSET, UINT64_MAX, UINT64_C(1) << 63};

    (void)state;
    for (unsigned i = 0; i < 6; i++) {
        uint64_t offset = offsets[i];
        const uint64_t times[] = {0, 1, 1234, UINT64_MAX, offset, 0 - offset, offset + 1};

        for (unsigned t = 0; t < 7; t++) {
            uint64_t out = nvvp_time_out(times[t], offset);

            assert_int_equal(nvvp_time_in(out, offset), times[t]);
            assert_int_equal(!out, !times[t]);
        }
    }
    assert_int_equal(nvvp_time_out(5000, OFFSET), UINT64_C(1700000000000004000));
}

/* ---- Failures ---- */

/* A trace whose file has some 5 MB. */
static struct mp_trace *large_trace(int *fd)
{
    *fd = fixture_file(NULL, 0);
    write_all_tables(*fd, FIXTURE_NOISE, 2000, 3);
    return open_trace(*fd);
}

static void expect_refusal(const char *path, const char *words)
{
    struct mp_error error = {.status = MP_OK};
    int fd;
    struct mp_trace *trace = large_trace(&fd);

    assert_int_equal(nvvp_write(trace, path, &error), MP_ERR_IO);
    if (!strstr(error.text, words) || strchr(error.text, '\n'))
        fail_msg("'%s' lacks '%s'", error.text, words);
    assert_int_equal(nvvp_write(trace, path, NULL), MP_ERR_IO);
    mp_trace_close(trace);
    close(fd);
}

static void a_file_in_the_way_stays(void **state)
{
    const char *there = in_folder("there.nvvp");
    struct stat about;
    FILE *file = fopen(there, "w");

    (void)state;
    assert_non_null(file);
    fputs("mine", file);
    fclose(file);
    expect_refusal(there, "there.nvvp': File exists");
    assert_int_equal(stat(there, &about), 0);
    assert_int_equal(about.st_size, 4);
    unlink(there);
    assert_int_equal(files_in_folder(), 0);
}

static void a_failure_leaves_nothing_behind(void **state)
{
    struct rlimit before, small;
    struct mp_error error;
    int fd;
    struct mp_trace *trace = large_trace(&fd);

    (void)state;
    expect_refusal(in_folder("no/folder.nvvp"), "folder.nvvp': No such file or directory");
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = 1 << 19; /* as a full disk, but for the words */
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_int_equal(nvvp_write(trace, in_folder("full.nvvp"), &error), MP_ERR_IO);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    if (!strstr(error.text, "full.nvvp': File too large"))
        fail_msg("%s", error.text);
    assert_int_equal(files_in_folder(), 0);
    mp_trace_close(trace);
    close(fd);
}

static void only_the_owner_may_read(void **state)
{
    const char *path = in_folder("private.nvvp");
    int fd = fixture_file(NULL, 0);
    struct stat about;

    (void)state;
    fixture_small_trace(fd);
    write_as(fd, path);
    assert_int_equal(stat(path, &about), 0);
    assert_int_equal(about.st_mode & 0777, 0600);
    unlink(path);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_table_comes_back),
        cmocka_unit_test(small_and_empty_traces_come_back),
        cmocka_unit_test(times_convert_both_ways),
        cmocka_unit_test(a_file_in_the_way_stays),
        cmocka_unit_test(only_the_owner_may_read),
        cmocka_unit_test(a_failure_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
