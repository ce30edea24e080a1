/* Tells a copy of a trace from another recording, by hashes of what every file begins with. */
#include "profile/fingerprint.h"

#include <string.h>

#include "base/data/hash.h"

#include "base/poison.h"

void fingerprint_begin(struct fingerprint *print, const struct mp_trace *trace)
{
    const char *key;
    const char *value;

    *print = (struct fingerprint){.count = 0};
    for (size_t i = 0; mp_trace_property_at(trace, i, &key, &value); i++) {
        print->header = mp_hash64(key, strlen(key), print->header);
        print->header = mp_hash64(value, strlen(value), print->header);
    }
    print->unique = mp_trace_property(trace, "pid") && mp_trace_property(trace, "start_clock_ns");
}

void fingerprint_take(struct fingerprint *print, const struct mp_chunk *chunk)
{
    const uint64_t facts[] = {chunk->sequence,  chunk->table_id,     chunk->rows,
                              chunk->raw_bytes, chunk->packed_bytes, chunk->first_time,
                              chunk->last_time};
    uint64_t before = print->count ? print->chunks[print->count - 1] : 0;

    if (print->count < FINGERPRINT_CHUNKS)
        print->chunks[print->count++] = mp_hash64(facts, sizeof facts, before);
}

bool fingerprint_is_same(const struct fingerprint *a, const struct fingerprint *b)
{
    uint32_t common = a->count < b->count ? a->count : b->count;

    if (a->header != b->header || a->unique != b->unique)
        return false;
    return a->unique || (common && a->chunks[common - 1] == b->chunks[common - 1]);
}
