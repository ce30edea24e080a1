/* What the tests of reading nvprof's files share: a file made by SQL statements, and what nvvp_read
 * makes of it. */
#ifndef MP_TESTS_NVVP_FIXTURE_H
#define MP_TESTS_NVVP_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "export/nvvp/nvvp.h"
#include "trace/schema.h"
#include "unit/trace_fixture.h"

static char nvvp_folder[] = "/tmp/test_nvvp.XXXXXX";
static char nvvp_path[64];

static inline int nvvp_make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(nvvp_folder))
        return -1;
    snprintf(nvvp_path, sizeof nvvp_path, "%s/x.nvvp", nvvp_folder);
    return 0;
}

static inline int nvvp_remove_folder(void **state)
{
    (void)state;
    unlink(nvvp_path);
    return rmdir(nvvp_folder);
}

#define STRINGS                                                                                    \
    "CREATE TABLE StringTable(_id_ INTEGER PRIMARY KEY, value TEXT);"                              \
    "INSERT INTO StringTable VALUES(0, '-- null --'), (5, 'five'), (9, 'nine');"
#define MARKERS                                                                                    \
    "CREATE TABLE CUPTI_ACTIVITY_KIND_MARKER(_id_ INTEGER PRIMARY KEY, flags, timestamp, id, "     \
    "objectKind, objectId, name, domain);"
#define RUNTIME                                                                                    \
    "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(_id_ INTEGER PRIMARY KEY, cbid, start, end, "        \
    "processId, threadId, correlationId, returnValue);"
#define CALL "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES"

/* A database made by these statements. */
static inline void nvvp_put_database(const char *sql)
{
    char *message = NULL;
    sqlite3 *db;

    unlink(nvvp_path);
    assert_int_equal(sqlite3_open(nvvp_path, &db), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK)
        fail_msg("%s: %s", sql, message);
    sqlite3_close(db);
}

/* Reads the file; a success must be an intact trace, a failure one line that names the file. */
static inline enum mp_status nvvp_read_it(struct mp_error *error, uint64_t *rows)
{
    int fd = fixture_file(NULL, 0);
    struct fixture_reading reading;
    enum mp_status status;

    *error = (struct mp_error){.status = MP_OK};
    status = nvvp_read(nvvp_path, fd, error);
    assert_true(fcntl(fd, F_GETFD) >= 0);
    if (status == MP_OK) {
        fixture_read(fd, &reading);
        assert_int_equal(reading.status, MP_END);
        assert_false(reading.damaged);
        *rows = reading.rows;
    } else {
        assert_int_equal(error->status, status);
        if (!strstr(error->text, nvvp_path) || strchr(error->text, '\n'))
            fail_msg("'%s'", error->text);
    }
    close(fd);
    return status;
}

static inline void nvvp_expect_words(enum mp_status expected, const char *words)
{
    struct mp_error error;
    uint64_t rows;
    enum mp_status status = nvvp_read_it(&error, &rows);

    if (status != expected || !strstr(error.text, words))
        fail_msg("status %d instead of %d, '%s' lacks '%s'", status, expected, error.text, words);
}

/* The values of one column of the only chunk of a table, as text. */
static inline void nvvp_expect_column(const char *table, const char *column, const char *expected)
{
    const struct mp_table_info *info = mp_table_by_name(table);
    int at = mp_column_index(info, column);
    int fd = fixture_file(NULL, 0);
    char got[256] = "";
    struct mp_error error;
    struct mp_cursor *cursor;
    struct mp_batch batch;
    struct mp_trace *trace;

    if (nvvp_read(nvvp_path, fd, &error) != MP_OK)
        fail_msg("%s", error.text);
    assert_int_equal(mp_trace_open(fixture_path(fd), &trace, NULL), MP_OK);
    assert_int_equal(mp_cursor_open(trace, &cursor, NULL), MP_OK);
    while (mp_cursor_next(cursor, &batch) == MP_OK)
        for (uint32_t row = 0; batch.table == info && row < batch.rows; row++) {
            size_t length = strlen(got);

            snprintf(got + length, sizeof got - length, "%s%llu", length ? " " : "",
                     (unsigned long long)batch.columns[at][row]);
        }
    mp_cursor_close(cursor);
    mp_trace_close(trace);
    close(fd);
    if (strcmp(got, expected) != 0)
        fail_msg("%s.%s: '%s' instead of '%s'", table, column, got, expected);
}

#endif
