/* `miniprof check`: reads all of a trace and says what is damaged. It decodes every column,
 * because a checksum alone does not find what a faulty writer wrote. Of a folder it reads each
 * file, also copies, which reports pass over.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "base/text/foreign.h"
#include "base/text/strings.h"
#include "base/text/units.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/terminal.h"
#include "profile/set.h"

#include "base/poison.h"

static const struct option_set set = {
    .command = "check",
    .synopsis = "TRACE|FOLDER...",
    .purpose = "Verifies every checksum of a trace and decodes every row; of a folder, those of "
               "each of its *.mpt files.",
    .notes = "Exit code: 0 all is intact, 1 something is damaged or missing, 2 wrong usage, 3 a "
             "file is not a trace or cannot be read. Of several files, the greatest.",
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
    foreign_put_text(stdout, path);
    if (damaged)
        printf(": %s (%s chunks with %s rows are intact)\n", text, mp_count(counts->chunks).text,
               mp_count(counts->rows).text);
    else
        printf(": ok, %s chunks, %s rows\n", mp_count(counts->chunks).text,
               mp_count(counts->rows).text);
}

static int check_trace(const char *path, struct mp_trace *trace, struct mp_error *error)
{
    struct counts counts = {0, 0};
    struct mp_cursor *cursor;
    struct mp_damage damage;
    char text[MP_ERROR_TEXT_BYTES];

    if (mp_cursor_open(trace, &cursor, error) != MP_OK)
        return fail_on_trace(set.command, path, error);
    enum mp_status status = decode_all(cursor, &counts);
    mp_cursor_damage(cursor, &damage);
    bool damaged = mp_damage_describe(&damage, text, sizeof text);
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
    progress_end();
    print_verdict(path, &counts, damaged, text);
    return damaged ? EXIT_FINDINGS : EXIT_FINE;
}

static int check_file(const char *path)
{
    struct mp_trace *trace = open_trace(set.command, path);
    struct mp_error error;

    if (!trace)
        return EXIT_UNREADABLE;
    progress_begin(path);
    int code = check_trace(path, trace, &error);
    progress_end();
    mp_trace_close(trace);
    return code;
}

/* ---- Folders ---- */

static int is_trace_name(const struct dirent *entry)
{
    return entry->d_name[0] != '.' && mp_text_ends_with(entry->d_name, ".mpt");
}

static int check_named(const char *folder, const char *name)
{
    char path[PATH_MAX];
    bool slash = *folder && folder[strlen(folder) - 1] == '/';
    int length = snprintf(path, sizeof path, "%s%s%s", folder, slash ? "" : "/", name);

    if (length < PATH_MAX)
        return check_file(path);
    complain(set.command, "'%.150s...': the path is too long", folder);
    return EXIT_UNREADABLE;
}

static int check_folder(const char *folder)
{
    struct dirent **names = NULL;
    int count = scandir(folder, &names, is_trace_name, alphasort);
    int worst = EXIT_FINE;

    if (count < 0)
        complain(set.command, "cannot read the folder '%s': %s", folder, strerror(errno));
    else if (!count)
        complain(set.command, "no traces (*.mpt) in the folder '%s'", folder);
    for (int i = 0; i < count; i++) {
        int code = check_named(folder, names[i]->d_name);

        worst = worse_code(worst, code);
        free(names[i]);
    }
    free(names);
    return count > 0 ? worst : EXIT_UNREADABLE;
}

int cmd_check(int argc, char **argv)
{
    int first;
    int worst = EXIT_FINE;
    enum options_result result = options_parse(&set, argc, argv, NULL, &first);

    if (result != OPTIONS_OK)
        return result == OPTIONS_DONE ? EXIT_FINE : EXIT_USAGE;
    if (first == argc) {
        complain(set.command, "which trace? 'miniprof check TRACE.mpt'");
        return EXIT_USAGE;
    }
    view_open_lines();
    for (int i = first; i < argc; i++) {
        int code = trace_set_is_folder(argv[i]) ? check_folder(argv[i]) : check_file(argv[i]);

        worst = worse_code(worst, code);
    }
    return worst;
}
