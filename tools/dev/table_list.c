/* Prints the tables of docs/trace-format.md and their enumerations from tables.def.
 * tests/cli/docs_are_current.sh compares them with the document. */
#include <miniprof/trace.h>
#include <stdio.h>
#include <string.h>

#include "trace/tables.def"

#define LINE_BYTES 100
#define ITEM_BYTES 96

struct value {
    const char *enumeration, *name;
    unsigned number;
};

#define VALUE(enumeration, value, name) {#enumeration, #name, value},
#define VALUES(enumeration)             MP_ENUM_##enumeration(VALUE)
static const struct value values[] = {MP_ENUMS(VALUES)};
static const size_t value_count = sizeof values / sizeof *values;

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

static void print_column(const struct mp_table_info *table, int index)
{
    const struct mp_column_info *column = &table->columns[index];

    printf("| %u | `%s` | %s", column->id, column->name, type_names[column->type]);
    if (column->reference)
        printf(" `%s`", column->reference);
    printf(" | %s | %s |\n", unit_names[column->unit], mp_column_doc(table, index));
}

/* "Of `copy.kind`, ...": the columns whose values these are. */
static void print_users(const char *enumeration)
{
    const char *lead = "Of";
    size_t count;
    const struct mp_table_info *tables = mp_tables(&count);

    for (size_t i = 0; i < count; i++)
        for (int c = 0; c < tables[i].column_count; c++) {
            const struct mp_column_info *column = &tables[i].columns[c];

            if (column->type != MP_TYPE_ENUM || strcmp(column->reference, enumeration) != 0)
                continue;
            printf("%s `%s.%s`", lead, tables[i].name, column->name);
            lead = ",";
        }
    printf(".\n\n");
}

/* The values of one enumeration, from values[first] on. Answers where the next one begins. */
static size_t print_enumeration(size_t first)
{
    const char *enumeration = values[first].enumeration;
    size_t column = 0;
    size_t at = first;

    printf("\n### `%s`\n\n", enumeration);
    print_users(enumeration);
    for (; at < value_count && !strcmp(values[at].enumeration, enumeration); at++) {
        char item[ITEM_BYTES];
        size_t bytes = (size_t)snprintf(item, sizeof item, "%s%u `%s`", at == first ? "" : ", ",
                                        values[at].number, values[at].name);
        size_t skip = 0;

        if (column + bytes + 1 > LINE_BYTES) {
            printf(",\n");
            column = 0;
            skip = 2;
        }
        printf("%s", item + skip);
        column += bytes - skip;
    }
    printf(".\n");
    return at;
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
            print_column(&tables[i], c);
    }
    printf("\n## 9. Enumerations\n\n"
           "Values may be added at any time, and CUPTI may use values that are not listed here.\n"
           "A reader shows a value without a name as a number.\n");
    for (size_t at = 0; at < value_count;)
        at = print_enumeration(at);
    return 0;
}
