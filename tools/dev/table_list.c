/* Prints the tables of docs/trace-format.md from tables.def. tests/cli/docs_are_current.sh compares
 * them with the document. */
#include <miniprof/trace.h>
#include <stdio.h>

static const char *const type_names[] = {
    [MP_TYPE_UINT] = "uint",         [MP_TYPE_INT] = "int", [MP_TYPE_TIME] = "time",
    [MP_TYPE_DURATION] = "duration", [MP_TYPE_HEX] = "hex", [MP_TYPE_BOOL] = "bool",
    [MP_TYPE_ENUM] = "enum",         [MP_TYPE_REF] = "ref", [MP_TYPE_TEXT] = "text"};

static const char *const unit_names[] = {
    [MP_UNIT_NONE] = "",       [MP_UNIT_NS] = "ns",   [MP_UNIT_BYTES] = "bytes",
    [MP_UNIT_COUNT] = "count", [MP_UNIT_KHZ] = "kHz", [MP_UNIT_KBYTES_PER_S] = "kB/s"};

static const char *const kind_names[] = {[MP_TABLE_DEFINITION] = "Definitions",
                                         [MP_TABLE_EVENT] = "Events",
                                         [MP_TABLE_NOTE] = "Notes on the recording"};

static void print_column(const struct mp_column_info *column)
{
    printf("| %u | `%s` | %s", column->id, column->name, type_names[column->type]);
    if (column->reference)
        printf(" `%s`", column->reference);
    printf(" | %s | %s |\n", unit_names[column->unit], column->doc);
}

int main(void)
{
    size_t count;
    const struct mp_table_info *tables = mp_tables(&count);
    for (size_t i = 0; i < count; i++) {
        printf("\n### %u `%s`\n\n%s.\n%s, since version %u.\n\n", tables[i].id, tables[i].name,
               tables[i].doc, kind_names[tables[i].kind], tables[i].since);
        printf("| id | column | type | unit | meaning |\n|---|---|---|---|---|\n");
        for (int c = 0; c < tables[i].column_count; c++)
            print_column(&tables[i].columns[c]);
    }
    return 0;
}
