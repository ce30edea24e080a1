/* What columns mean, in words. They have a file apart from schema.c, since neither the recorder nor
 * the command prints them: there the linker leaves this object out. (Of one object it keeps all
 * texts or none.)
 */
#include "trace/schema.h"

#include "base/poison.h"

#define DOC(table, id, name, type, unit, codec, doc) doc,
#define DOC_ARRAY(id, name, kind, since, doc)                                                      \
    static const char *const docs_##name[] = {MP_COLUMNS_##name(DOC)};
MP_TABLES(DOC_ARRAY)

#define DOCS(id, name, kind, since, doc) docs_##name,
static const char *const *const docs[] = {MP_TABLES(DOCS)};

const char *mp_column_doc(const struct mp_table_info *table, int column)
{
    size_t count;
    const struct mp_table_info *tables = mp_tables(&count);

    return column >= 0 && column < table->column_count ? docs[table - tables][column] : NULL;
}
