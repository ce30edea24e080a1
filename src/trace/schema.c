/* The tables of tables.def as data, for code that handles any table. */
#include "trace/schema.h"

#include <string.h>

#include "trace/codec.h"

#include "base/poison.h"

#define TYPE_UINT        MP_TYPE_UINT, NULL
#define TYPE_INT         MP_TYPE_INT, NULL
#define TYPE_TIME        MP_TYPE_TIME, NULL
#define TYPE_DURATION    MP_TYPE_DURATION, NULL
#define TYPE_HEX         MP_TYPE_HEX, NULL
#define TYPE_BOOL        MP_TYPE_BOOL, NULL
#define TYPE_TEXT        MP_TYPE_TEXT, NULL
#define TYPE_ENUM(names) MP_TYPE_ENUM, #names
#define TYPE_REF(table)  MP_TYPE_REF, #table

#define COLUMN_OF(name, id, unit, pair)              COLUMN_FROM(name, id, unit, pair)
#define COLUMN_FROM(name, id, unit, type, reference) {name, reference, type, unit, id},
#define COLUMN(table, id, name, type, unit, codec, doc)                                            \
    COLUMN_OF(#name, id, MP_UNIT_##unit, TYPE_##type)
#define COLUMN_ARRAY(id, name, kind, since, doc)                                                   \
    static const struct mp_column_info columns_##name[] = {MP_COLUMNS_##name(COLUMN)};             \
    _Static_assert(MP_COLUMN_COUNT_##name <= MP_MAX_COLUMNS, "raise MP_MAX_COLUMNS");
MP_TABLES(COLUMN_ARRAY)

#define TABLE(id, name, kind, since, doc)                                                          \
    {#name, doc, columns_##name, MP_TABLE_##kind, id, since, MP_COLUMN_COUNT_##name},
static const struct mp_table_info tables[] = {MP_TABLES(TABLE)};

/* A codec names columns; here the names become positions. at_NONE is the position for "no column".
 */
#define AT(table, column) AT_##table##_##column
#define COLUMN_AT(table, id, name, type, unit, codec, doc)                                         \
    AT_##table##_##name = MP_COLUMN_##table##_##name,
#define COLUMN_POSITIONS(id, name, kind, since, doc)                                               \
    enum { MP_COLUMNS_##name(COLUMN_AT) AT_##name##_NONE = -1 };
MP_TABLES(COLUMN_POSITIONS)

#define CODEC_ID() MP_CODEC_NUMBER, MP_PREDICT_BASE_LAST, NONE, NONE, NONE
#define CODEC_REPEAT(lane)                                                                         \
    MP_CODEC_NUMBER, MP_PREDICT_CONTEXT_LAST | MP_PREDICT_CONTEXT_SELF, lane, NONE, NONE
#define CODEC_STEP(lane, k1)                                                                       \
    MP_CODEC_NUMBER, MP_PREDICT_BASE_LAST | MP_PREDICT_CONTEXT_LAST | MP_PREDICT_CONTEXT_PREV,     \
        lane, k1, NONE
#define CODEC_SAME(k1) MP_CODEC_NUMBER, MP_PREDICT_CONTEXT_LAST, NONE, k1, NONE
#define CODEC_GAP(lane, k1, k2)                                                                    \
    MP_CODEC_START, MP_PREDICT_CONTEXT_MEAN | MP_PREDICT_CONTEXT_PREV, lane, k1, k2
#define CODEC_SPAN(k1, k2) MP_CODEC_SPAN, MP_PREDICT_CONTEXT_MEAN, NONE, k1, k2
#define CODEC_RAW()        MP_CODEC_NUMBER, 0, NONE, NONE, NONE
#define CODEC_STRINGS()    MP_CODEC_TEXT, 0, NONE, NONE, NONE

#define CODEC_OF(table, list) CODEC_FROM(table, list)
#define CODEC_FROM(table, kind, predict, lane, k1, k2)                                             \
    {kind, predict, AT(table, lane), AT(table, k1), AT(table, k2)},
#define COLUMN_CODEC(table, id, name, type, unit, codec, doc) CODEC_OF(table, CODEC_##codec)
#define CODEC_ARRAY(id, name, kind, since, doc)                                                    \
    static const struct mp_codec codecs_##name[] = {MP_COLUMNS_##name(COLUMN_CODEC)};
MP_TABLES(CODEC_ARRAY)

#define CODECS(id, name, kind, since, doc) codecs_##name,
static const struct mp_codec *const codecs[] = {MP_TABLES(CODECS)};

const struct mp_codec *mp_table_codecs(const struct mp_table_info *table)
{
    return codecs[table - tables];
}

const struct mp_table_info *mp_tables(size_t *count)
{
    *count = MP_TABLE_COUNT;
    return tables;
}

const struct mp_table_info *mp_table_by_name(const char *name)
{
    for (size_t i = 0; i < MP_TABLE_COUNT; i++)
        if (!strcmp(tables[i].name, name))
            return &tables[i];
    return NULL;
}

const struct mp_table_info *mp_table_by_id(unsigned id)
{
    for (size_t i = 0; i < MP_TABLE_COUNT; i++)
        if (tables[i].id == id)
            return &tables[i];
    return NULL;
}

int mp_column_index(const struct mp_table_info *table, const char *name)
{
    for (int i = 0; i < table->column_count; i++)
        if (!strcmp(table->columns[i].name, name))
            return i;
    return -1;
}

struct enumeration_value {
    const char *enumeration;
    const char *name;
    uint64_t value;
};

#define VALUE(enumeration, value, name) {#enumeration, #name, value},
#define VALUES(enumeration)             MP_ENUM_##enumeration(VALUE)
static const struct enumeration_value enumeration_values[] = {MP_ENUMS(VALUES)};

const char *mp_enum_name(const char *enumeration, uint64_t value)
{
    size_t count = sizeof enumeration_values / sizeof *enumeration_values;
    for (size_t i = 0; i < count; i++)
        if (enumeration_values[i].value == value &&
            !strcmp(enumeration_values[i].enumeration, enumeration))
            return enumeration_values[i].name;
    return NULL;
}
