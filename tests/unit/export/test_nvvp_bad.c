/* Files of nvprof's that are damaged or not what they seem: each gives a trace or one line, never
 * more, and never a crash. The short part has the first 100 of 600 damaged files, and a fifth of
 * the cuts. */
#include "unit/export/nvvp_fixture.h"
#include "unit/sweep.h"

static void put_file(const void *bytes, size_t size)
{
    FILE *file = fopen(nvvp_path, "w");

    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static uint8_t *get_file(size_t *size)
{
    int fd = open(nvvp_path, O_RDONLY);
    uint8_t *bytes;

    assert_true(fd >= 0);
    bytes = fixture_file_bytes(fd, size);
    close(fd);
    return bytes;
}

static void put_trace_of_ours(void)
{
    int fd = fixture_file(NULL, 0);
    struct mp_error error;
    struct mp_trace *trace;

    fixture_small_trace(fd);
    assert_int_equal(mp_trace_open(fixture_path(fd), &trace, &error), MP_OK);
    unlink(nvvp_path);
    if (nvvp_write(trace, nvvp_path, &error) != MP_OK)
        fail_msg("%s", error.text);
    mp_trace_close(trace);
    close(fd);
}

static void what_is_no_database_is_refused(void **state)
{
    static const char text[] = "==123== NVPROF is profiling process 123\n";

    (void)state;
    unlink(nvvp_path);
    nvvp_expect_words(MP_ERR_IO, "cannot open");
    assert_false(nvvp_is(nvvp_path));
    put_file("", 0);
    nvvp_expect_words(MP_ERR_FORMAT, "is empty");
    assert_false(nvvp_is(nvvp_path));
    put_file(text, sizeof text - 1);
    nvvp_expect_words(MP_ERR_FORMAT, "it is not an SQLite database");
    assert_false(nvvp_is(nvvp_path));
    put_file("SQLite format 3", 16);
    assert_true(nvvp_is(nvvp_path));
    nvvp_expect_words(MP_ERR_FORMAT, "is no SQLite file");
    assert_false(nvvp_is(nvvp_folder));
}

static void databases_of_others_are_refused(void **state)
{
    static const struct {
        const char *sql;
        enum mp_status status;
        const char *words;
    } cases[] = {
        {"CREATE TABLE a(b)", MP_ERR_FORMAT, "it has none of its tables"},
        {"CREATE TABLE StringIds(id, value); CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start, end)",
         MP_ERR_FORMAT, "exported by Nsight Systems"},
        {"CREATE VIEW CUPTI_ACTIVITY_KIND_RUNTIME AS WITH RECURSIVE n(start) AS (SELECT 1 UNION "
         "ALL SELECT start FROM n) SELECT start, start AS end FROM n",
         MP_ERR_FORMAT, "it has none of its tables"},
        {"CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start)", MP_ERR_FORMAT,
         "CUPTI_ACTIVITY_KIND_RUNTIME has no column 'end'"},
        {"CREATE TABLE CUPTI_ACTIVITY_KIND_DRIVER(start, end); CREATE TABLE StringTable(value)",
         MP_ERR_FORMAT, "StringTable has no column '_id_'"},
        {RUNTIME CALL "(1, 211, 1, 2, 3, 4, 5, 'six')", MP_ERR_DAMAGED,
         "CUPTI_ACTIVITY_KIND_RUNTIME, row 1: 'returnValue' is no number"},
        {RUNTIME CALL "(1, 211, 1, 2, 3, 4, 5, 6), (2, 211, 10, NULL, 3, 4, 5, 6)", MP_ERR_DAMAGED,
         "row 2: 'end' is no number"},
        {RUNTIME CALL "(1, 211, x'00', 2, 3, 4, 5, 6)", MP_ERR_DAMAGED, "'start' is no number"},
        {RUNTIME CALL "(1, 211, 1.5, 2, 3, 4, 5, 6)", MP_ERR_DAMAGED, "'start' is no number"},
        {RUNTIME CALL "(1, -1, 1, 2, 3, 4, 5, 6)", MP_ERR_DAMAGED, "'cbid' is below 0"},
        {"CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET(_id_ INTEGER PRIMARY KEY, start, end, bytes);"
         "INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES(1, 2, 3, -4)",
         MP_ERR_DAMAGED, "row 1: 'bytes' is below 0"},
        {STRINGS MARKERS
         "INSERT INTO CUPTI_ACTIVITY_KIND_MARKER VALUES(1, 2, 'x', 1, 2, x'', 5, 0)",
         MP_ERR_DAMAGED, "'timestamp' is no number"},
        {RUNTIME "CREATE TABLE MINIPROF_INFO(name, value); "
                 "INSERT INTO MINIPROF_INFO VALUES('format', 2)",
         MP_ERR_VERSION, "newer miniprof"},
        {RUNTIME "CREATE TABLE MINIPROF_INFO(name, value); "
                 "INSERT INTO MINIPROF_INFO VALUES('format', 'one')",
         MP_ERR_DAMAGED, "'format' is no number"},
        {RUNTIME "CREATE TABLE MINIPROF_INFO(name, value); "
                 "INSERT INTO MINIPROF_INFO VALUES('format', 1)",
         MP_ERR_DAMAGED, "no such table: MINIPROF_PROPERTY"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        nvvp_put_database(cases[i].sql);
        nvvp_expect_words(cases[i].status, cases[i].words);
    }
}

/* ---- Damaged bytes ---- */

static void cut_files_are_told(void **state)
{
    size_t size;
    uint8_t *bytes;

    (void)state;
    put_trace_of_ours();
    bytes = get_file(&size);
    for (size_t length = 0; length < size; length += sweep(1, 5) * (length < 8192 ? 97UL : 2039)) {
        struct mp_error error;
        uint64_t rows;

        put_file(bytes, length);
        assert_int_not_equal(nvvp_read_it(&error, &rows), MP_OK);
        if (length >= 100)
            nvvp_expect_words(MP_ERR_DAMAGED, "bytes are there");
    }
    free(bytes);
}

static void damage(uint8_t *bytes, size_t size, uint64_t *random)
{
    uint64_t any = fixture_random(random);
    size_t count = 1 + any % 8;

    while (count--) {
        any = fixture_random(random);
        /* Half of all at the beginnings of pages, where SQLite's structure is. */
        size_t at = any & 1 ? (any >> 8) % size : ((any >> 8) % size & ~(size_t)4095) | any >> 52;

        if (at < size)
            bytes[at] = (uint8_t)(any >> 1);
    }
}

static void damaged_files_are_survived(bool ours, unsigned rounds)
{
    uint64_t random = ours;
    size_t size;
    uint8_t *bytes = get_file(&size), *copy = malloc(size);

    assert_non_null(copy);
    for (unsigned i = 0; i < rounds; i++) {
        struct mp_error error;
        uint64_t rows;

        memcpy(copy, bytes, size);
        damage(copy, size, &random);
        put_file(copy, size);
        nvvp_read_it(&error, &rows);
    }
    free(copy);
    free(bytes);
}

static void damaged_files_of_ours(void **state)
{
    (void)state;
    put_trace_of_ours();
    damaged_files_are_survived(true, sweep(600, 100));
}

static void damaged_files_of_nvprof(void **state)
{
    char *message = NULL;
    sqlite3 *db;

    (void)state;
    put_trace_of_ours();
    assert_int_equal(sqlite3_open(nvvp_path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "DROP TABLE MINIPROF_INFO; VACUUM", NULL, NULL, &message),
                     SQLITE_OK);
    sqlite3_close(db);
    damaged_files_are_survived(false, sweep(600, 100));
}

static void large_values_are_bounded(void **state)
{
    (void)state;
    nvvp_put_database(STRINGS RUNTIME "INSERT INTO StringTable VALUES(10, zeroblob(20000000))");
    nvvp_expect_words(MP_ERR_DAMAGED, "too big");
    nvvp_put_database(STRINGS RUNTIME "INSERT INTO StringTable VALUES(10, zeroblob(200000))");
    nvvp_expect_column("string", "id", "1 2 3"); /* cut as the format says */
    nvvp_put_database(STRINGS MARKERS
                      "INSERT INTO CUPTI_ACTIVITY_KIND_MARKER VALUES(1, 1, 10, 1, 2, "
                      "zeroblob(1000000), 5, 0)");
    nvvp_expect_column("nvtx", "time", "10");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_no_database_is_refused),
        cmocka_unit_test(databases_of_others_are_refused),
        cmocka_unit_test(cut_files_are_told),
        cmocka_unit_test(damaged_files_of_ours),
        cmocka_unit_test(damaged_files_of_nvprof),
        cmocka_unit_test(large_values_are_bounded),
    };
    return cmocka_run_group_tests(tests, nvvp_make_folder, nvvp_remove_folder);
}
