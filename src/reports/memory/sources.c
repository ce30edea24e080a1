/* Who allocated: the function and the NVTX range of a site, by which the tables group allocations.
 */
#include <string.h>

#include "reports/memory/memory.h"
#include "trace/codec/schema.h"

#include "base/poison.h"

bool memory_can_be_freed(uint64_t kind)
{
    return kind != MP_memory_kind_device_static && kind != MP_memory_kind_managed_static;
}

struct memory_source memory_source_of(const struct memory *memory, const struct memory_site *site)
{
    const struct definitions *definitions = &memory->definitions;
    struct memory_source source = {.function = definitions_function(definitions, site->function)};

    if (!site->in_range)
        return source;
    source.domain = definitions_text(definitions, site->domain);
    source.range = definitions_text(definitions, site->range);
    if (!source.range)
        source.range = "<unnamed>";
    return source;
}

static int compare_texts(const char *a, const char *b)
{
    if (!a || !b)
        return !b - !a;
    return strcmp(a, b);
}

int memory_compare_sources(const struct memory_source *a, const struct memory_source *b)
{
    int order = compare_texts(a->function, b->function);

    if (!order)
        order = compare_texts(a->range, b->range);
    return order ? order : compare_texts(a->domain, b->domain);
}
