/* `miniprof check`: reads all of a trace and says what is damaged. It decodes every column,
 * because a checksum alone does not find what a faulty writer wrote.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/status.h"
#include "common/command.h"
#include "common/options.h"

#include "base/poison.h"

static const struct option_set set = {
    .command = "check",
    .synopsis = "TRACE",
    .purpose = "Verifies every checksum of a trace and decodes every row.",
    .notes =
        "Exit code: 0 all is intact, 1 something is damaged or missing, 2 wrong usage, 3 the file "
        "is not a trace or cannot be read.",
};

struct counts {
    uint64_t chunks;
    uint64_t rows;
};

/* Decodes everything; returns MP_END if it reached the end. */
static enum mp_status decode_all(struct mp_cursor *cursor, struct counts *counts)
{
    struct mp_batch batch;
    enum mp_status status;

    while ((status = mp_cursor_next(cursor, &batch)) == MP_OK) {
        counts->chunks++;
        counts->rows += batch.rows;
    }
    return status;
}

/* Chunks of tables that only a newer miniprof can decode still have checksums. */
static enum mp_status verify_all(struct mp_cursor *cursor)
{
    struct mp_chunk chunk;
    enum mp_status status;

    mp_cursor_rewind(cursor);
    while ((status = mp_cursor_next_chunk(cursor, &chunk, true)) == MP_OK)
        ;
    return status;
}

static void print_verdict(const char *path, const struct counts *counts, bool damaged,
                          const char *text)
{
    if (damaged)
        printf("%s: %s (%" PRIu64 " chunks with %" PRIu64 " rows are intact)\n", path, text,
               counts->chunks, counts->rows);
    else
        printf("%s: ok, %" PRIu64 " chunks, %" PRIu64 " rows\n", path, counts->chunks,
               counts->rows);
}

static int check_trace(const char *path, struct mp_trace *trace, struct mp_error *error)
{
    struct counts counts = {0, 0};
    struct mp_cursor *cursor;
    struct mp_damage damage;
    char text[MP_ERROR_TEXT_BYTES];
    bool damaged;

    if (mp_cursor_open(trace, &cursor, error) != MP_OK)
        return fail_on_trace(set.command, path, error);
    enum mp_status status = decode_all(cursor, &counts);
    mp_cursor_damage(cursor, &damage);
    damaged = mp_damage_describe(&damage, text, sizeof text);
    if (status == MP_END && !damaged && damage.chunks_unknown) {
        status = verify_all(cursor);
        mp_cursor_damage(cursor, &damage);
        damaged = mp_damage_describe(&damage, text, sizeof text);
    }
    mp_cursor_close(cursor);
    if (status != MP_END) {
        mp_error_set(error, status, "cannot read on: %s", mp_status_name(status));
        return fail_on_trace(set.command, path, error);
    }
    print_verdict(path, &counts, damaged, text);
    return damaged ? EXIT_FINDINGS : EXIT_FINE;
}

int cmd_check(int argc, char **argv)
{
    struct mp_trace *trace;
    struct mp_error error;
    const char *path;
    int first;
    int code;
    enum options_result result = options_parse(&set, argc, argv, NULL, &first);

    if (result != OPTIONS_OK)
        return result == OPTIONS_DONE ? EXIT_FINE : EXIT_USAGE;
    path = only_trace(set.command, argc - first, argv + first);
    if (!path)
        return EXIT_USAGE;
    trace = open_trace(set.command, path);
    if (!trace)
        return EXIT_UNREADABLE;
    code = check_trace(path, trace, &error);
    mp_trace_close(trace);
    return code;
}
