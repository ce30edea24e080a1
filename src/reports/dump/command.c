/* `miniprof dump`: rows of tables as they are, with definitions resolved on demand. It is for
 * people who check the recorder, and for scripts.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "base/text/foreign.h"
#include "base/text/strings.h"
#include "cli/command.h"
#include "cli/options.h"
#include "profile/reading.h"
#include "reports/dump/dump_table.h"
#include "trace/schema.h"

#include "base/poison.h"

struct dump_values {
    struct report_values report; /* its `table` is the one that is asked for */
    bool raw;
};

#define FIELD(name) offsetof(struct dump_values, name)
static const struct option_spec specs[] = {
    {.name = "table",
     .argument = "T",
     .kind = OPTION_TEXT,
     .offset = FIELD(report) + offsetof(struct report_values, table),
     .help = "only this table ('miniprof info' lists them)"},
    REPORT_CSV_OPTION(FIELD(report)),
    {.name = "json",
     .kind = OPTION_VALUE,
     .value = REPORT_JSON,
     .offset = FIELD(report) + offsetof(struct report_values, format),
     .help = "a JSON object for each row, one a line"},
    {.name = "jsonl",
     .kind = OPTION_FLAG,
     .offset = FIELD(report) + offsetof(struct report_values, lines),
     .help = "the same"},
    {.name = "raw",
     .kind = OPTION_FLAG,
     .offset = FIELD(raw),
     .help = "references and enumerations as the numbers in the file"},
    REPORT_TOP_OPTION(FIELD(report)),
    REPORT_VIEW_OPTIONS(FIELD(report)),
};
#undef FIELD

static const struct option_set set = {
    .command = "dump",
    .synopsis = "[options] TRACE",
    .purpose = "Prints the rows of a trace, table by table, in file order. Times are ns of the "
               "recorder's clock, sizes bytes.",
    .notes =
        "Exit code: 0 fine, 1 parts are damaged and left out, 2 wrong usage, 3 the trace cannot "
        "be read.",
    .specs = specs,
    .count = sizeof specs / sizeof *specs,
};

struct dump {
    struct mp_cursor *cursor;
    struct definitions definitions;
    struct json_writer json;
    struct mp_damage damage;
    const struct dump_values *values;
    const struct report_out *out;
};

/* Each pass over the file meets the same gaps, but bad columns only in the tables that it reads. */
static void note_damage(struct dump *dump)
{
    struct mp_damage damage;
    uint64_t chunks = dump->damage.chunks_damaged;
    uint64_t rows = dump->damage.rows_damaged;

    mp_cursor_damage(dump->cursor, &damage);
    dump->damage = damage;
    dump->damage.chunks_damaged += chunks;
    dump->damage.rows_damaged += rows;
}

static enum mp_status load_definitions(struct dump *dump)
{
    const struct reading reading = {.definitions = &dump->definitions, .kept = DEFINITIONS_ALL};
    struct mp_batch batch;
    enum mp_status status;

    reading_select(&reading, dump->cursor);
    while ((status = mp_cursor_next(dump->cursor, &batch)) == MP_OK)
        MP_TRY(reading_take(&reading, &batch));
    return status;
}

static void print_heading(const struct dump_table *dump, const char **separator)
{
    if (dump->printer.format == REPORT_JSON || dump->begun)
        return;
    fputs(*separator, dump->printer.out);
    *separator = "\n";
    fprintf(dump->printer.out, "%s: %s\n", dump->table->name, dump->table->doc);
}

/* Prints one table; an empty one only if it was asked for by name. */
static enum mp_status dump_one(struct dump *dump, struct dump_table *table,
                               const struct mp_table_info *info, const char **separator)
{
    const struct reading_table whole = {info->id, MP_ALL_COLUMNS, .take = NULL};
    const struct reading reading = {.tables = &whole, .table_count = 1};
    const struct dump_values *values = dump->values;
    bool named = dump->out->format == REPORT_JSON;
    struct mp_batch batch;
    enum mp_status status;

    dump_begin(table, info, dump->out, &dump->json, values->raw ? NULL : &dump->definitions, named);
    mp_cursor_rewind(dump->cursor);
    reading_select(&reading, dump->cursor);
    while ((status = mp_cursor_next(dump->cursor, &batch)) == MP_OK) {
        if (!values->report.table)
            print_heading(table, separator);
        dump_batch(table, &batch);
    }
    if (values->report.table)
        dump_header(table);
    report_end(&table->printer);
    note_damage(dump);
    return status;
}

static enum mp_status dump_tables(struct dump *dump, const struct mp_table_info *only)
{
    struct dump_table *table = calloc(1, sizeof *table);
    const char *separator = "";
    enum mp_status status = table ? MP_END : MP_ERR_MEMORY;
    size_t count;
    const struct mp_table_info *tables = mp_tables(&count);

    for (size_t i = 0; i < count && status == MP_END; i++) {
        if (!only || only == &tables[i])
            status = dump_one(dump, table, &tables[i], &separator);
    }
    free(table);
    return status;
}

static int dump_trace(const char *path, struct mp_trace *trace, const struct dump_values *values,
                      const struct report_out *out, const struct mp_table_info *only)
{
    struct dump dump = {.values = values, .out = out};
    struct mp_error error;
    char text[MP_ERROR_TEXT_BYTES];

    if (mp_cursor_open(trace, &dump.cursor, &error) != MP_OK)
        return fail_on_trace(set.command, path, &error);
    definitions_init(&dump.definitions, trace);
    dump.json.out = out->file;
    enum mp_status status = values->raw ? MP_END : load_definitions(&dump);
    if (only)
        note_damage(&dump);
    if (status == MP_END)
        status = dump_tables(&dump, only);
    definitions_free(&dump.definitions);
    mp_cursor_close(dump.cursor);
    if (status != MP_END) {
        mp_error_set(&error, status, "cannot read on: %s", mp_status_name(status));
        return fail_on_trace(set.command, path, &error);
    }
    if (!mp_damage_describe(&dump.damage, text, sizeof text))
        return EXIT_FINE;
    complain(set.command, "'%s': %s", path, text);
    return EXIT_FINDINGS;
}

/* Complains of a table that does not exist; true if there is nothing to complain of. */
static bool find_table(const char *name, const struct mp_table_info **table)
{
    struct mp_meant meant = {.typed = name ? name : ""};
    size_t count;
    const struct mp_table_info *tables = mp_tables(&count);

    *table = name ? mp_table_by_name(name) : NULL;
    if (!name || *table)
        return true;
    for (size_t i = 0; i < count; i++)
        mp_meant_offer(&meant, tables[i].name);
    if (mp_meant_name(&meant)) {
        complain(set.command, "no table '%s'; did you mean '%s'? 'miniprof info' lists them", name,
                 mp_meant_name(&meant));
        return false;
    }
    fprintf(stderr, "miniprof %s: no table '", set.command);
    foreign_put_text(stderr, name);
    fputs("'; there are", stderr);
    for (size_t i = 0; i < count; i++)
        fprintf(stderr, " %s", tables[i].name);
    fputc('\n', stderr);
    return false;
}

/* Tables differ in their columns, and CSV has one header row. */
static bool dump_options_agree(struct dump_values *values)
{
    struct report_values *report = &values->report;
    bool csv = report->format == REPORT_CSV;

    if (report->lines && !csv)
        report->format = REPORT_JSON;
    return options_agree(set.command, csv && report->lines,
                         "--csv and --jsonl are two formats; ask for one") &&
           options_agree(set.command, csv && !report->table,
                         "--csv prints one table, such as --table=kernel ('miniprof info' lists "
                         "them); --json prints all");
}

int cmd_dump(int argc, char **argv)
{
    struct dump_values values = {.report = REPORT_PRESET};
    struct report_sheet sheet;
    const struct mp_table_info *table;
    int first;
    enum options_result result = options_parse(&set, argc, argv, &values, &first);

    if (result != OPTIONS_OK)
        return result == OPTIONS_DONE ? EXIT_FINE : EXIT_USAGE;
    const char *path = only_trace(set.command, argc - first, argv + first);
    if (!path || !dump_options_agree(&values) || !find_table(values.report.table, &table))
        return EXIT_USAGE;
    struct report_out out =
        (struct report_out){.sheet = &sheet, .format = (enum report_format)values.report.format};
    if (!view_open(set.command, &values.report.view, out.format, &out))
        return EXIT_USAGE;
    sheet = (struct report_sheet){.file = out.file};
    struct mp_trace *trace = open_trace(set.command, path);
    if (!trace)
        return EXIT_UNREADABLE;
    int code = dump_trace(path, trace, &values, &out, table);
    mp_trace_close(trace);
    return code;
}
