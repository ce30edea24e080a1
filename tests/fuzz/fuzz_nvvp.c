/* Files of nvprof's (-i), whatever they hold: a file becomes an intact trace, or one line says what
 * is wrong. A mutation changes bytes of the file, or by SQLite a value, a row, a column or a table,
 * so that the file stays one that SQLite can read. */
#include <fcntl.h>
#include <sqlite3.h>
#include <string.h>

#include "walk.h"

#include "export/nvvp/nvvp.h"

/* SQLite follows links, and that of a file in memory leads nowhere. */
static char path[] = "/dev/shm/fuzz-nvvp-XXXXXX";

static void remove_file(void)
{
    unlink(path);
}

static void put_file(const uint8_t *data, size_t size)
{
    static int fd = -1;

    if (fd < 0) {
        fd = mkstemp(path);
        atexit(remove_file);
    }
    expect(ftruncate(fd, 0) == 0 && pwrite(fd, data, size, 0) == (ssize_t)size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static volatile uint64_t seen;
    const char *made = walk_file(1, data, 0);
    int fd = open(made, O_RDWR | O_CLOEXEC);
    struct mp_error error = {.text = ""};
    struct mp_trace *trace;
    enum mp_status status;

    put_file(data, size);
    status = nvvp_read(path, fd, &error);
    if (status == MP_OK) {
        expect(mp_trace_open(made, &trace, NULL) == MP_OK);
        seen = walk_trace(trace);
        (void)seen;
        mp_trace_close(trace);
    } else {
        expect(status == error.status && *error.text && !strchr(error.text, '\n'));
    }
    close(fd);
    return 0;
}

/* ---- Mutations by SQLite ---- */

/* A random one of the names that a query answers, into `name`; false if there is none. */
static bool pick(sqlite3 *db, const char *sql, const char *table, unsigned seed, char name[128])
{
    sqlite3_stmt *names = NULL;
    unsigned count = 0;

    if (sqlite3_prepare_v2(db, sql, -1, &names, NULL) == SQLITE_OK) {
        sqlite3_bind_text(names, 1, table, -1, SQLITE_STATIC);
        /* The n-th one takes the place of the one before it in one of n cases. */
        for (; sqlite3_step(names) == SQLITE_ROW; count++, seed = seed * 1664525u + 1013904223u)
            if ((seed >> 8) % (count + 1) == 0)
                sqlite3_snprintf(128, name, "%s", sqlite3_column_text(names, 0));
    }
    sqlite3_finalize(names);
    return count;
}

/* What values may be: each storage class, and numbers at the edges. */
static const char *const values[] = {
    "NULL",
    "0",
    "1",
    "-1",
    "2",
    "255",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "-9223372036854775808",
    "1e300",
    "0.5",
    "'text'",
    "''",
    "x'00'",
    "x'41410041'",
    "zeroblob(1000)",
    "random()",
    "abs(random() %% 100)",
    "\"%w\" + 1",
    "\"%w\" - 1",
    "-\"%w\"",
    "(SELECT max(\"%w\") FROM \"%w\")",
};

static void change_value(sqlite3 *db, const char *table, const char *column, unsigned seed)
{
    const char *value = values[seed / 8 % (sizeof values / sizeof *values)];
    char *set = sqlite3_mprintf(value, column, table);
    char *sql = sqlite3_mprintf("UPDATE \"%w\" SET \"%w\" = %s WHERE %s", table, column, set,
                                seed % 3 ? "random() % 4 = 0" : "1");

    sqlite3_exec(db, sql, NULL, NULL, NULL);
    sqlite3_free(sql);
    sqlite3_free(set);
}

static void change_schema(sqlite3 *db, const char *table, const char *column, unsigned seed)
{
    static const char *const changes[] = {
        "DROP TABLE \"%w\"",
        "ALTER TABLE \"%w\" DROP COLUMN \"%w\"",
        "ALTER TABLE \"%w\" RENAME COLUMN \"%w\" TO other",
        "DELETE FROM \"%w\" WHERE random() %% 2 = 0",
        "INSERT INTO \"%w\" (\"%w\") VALUES (random())",
        "INSERT OR REPLACE INTO \"%w\" SELECT * FROM \"%w\" ORDER BY random() LIMIT 3",
    };
    char *sql = sqlite3_mprintf(changes[seed % (sizeof changes / sizeof *changes)], table, column);

    sqlite3_exec(db, sql, NULL, NULL, NULL);
    sqlite3_free(sql);
}

static void mutate_database(sqlite3 *db, unsigned seed)
{
    char table[128], column[128];

    if (!pick(db, "SELECT name FROM sqlite_master WHERE type = 'table'", "", seed, table) ||
        !pick(db, "SELECT name FROM pragma_table_info(?1)", table, seed, column))
        return;
    if (seed % 5)
        change_value(db, table, column, seed);
    else
        change_schema(db, table, column, seed / 5);
}

/* Everything in memory; 0 if the bytes are no database or it has become too large. */
static size_t mutate_by_sqlite(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    uint8_t *copy = sqlite3_malloc64(size);
    uint8_t *changed = NULL;
    sqlite3_int64 bytes = 0;
    sqlite3 *db = NULL;

    memcpy(copy, data, size);
    if (sqlite3_open(":memory:", &db) == SQLITE_OK &&
        sqlite3_deserialize(db, "main", copy, (sqlite3_int64)size, (sqlite3_int64)size,
                            SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE) ==
            SQLITE_OK) {
        mutate_database(db, seed);
        changed = sqlite3_serialize(db, "main", &bytes, 0);
    }
    if (changed && bytes > 0 && (size_t)bytes <= max_size)
        memcpy(data, changed, (size_t)bytes);
    else
        bytes = 0;
    sqlite3_free(changed);
    sqlite3_close(db);
    return (size_t)bytes;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    size_t changed = seed % 4 && size ? mutate_by_sqlite(data, size, max_size, seed / 4) : 0;

    return changed ? changed : LLVMFuzzerMutate(data, size, max_size);
}
