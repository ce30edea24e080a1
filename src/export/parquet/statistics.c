/* Least and greatest values by the orders of parquet.thrift, ColumnOrder.TYPE_ORDER: numbers by
 * value, texts by unsigned bytes.
 */
#include "export/parquet/statistics.h"

#include <math.h>
#include <string.h>

#include "base/text/utf8.h"

#include "base/poison.h"

static void set_bound(struct bound *bound, const void *data, size_t bytes)
{
    memcpy(bound->data, data, bytes);
    bound->bytes = (uint32_t)bytes;
    bound->known = true;
    bound->exact = true;
}

static void find_of_integers(const struct cells *cells, size_t bytes, struct statistics *statistics)
{
    int64_t min = INT64_MAX, max = INT64_MIN;

    for (uint32_t i = 0; i < cells->count; i++) {
        int64_t value = (int64_t)cells->values[i];

        min = value < min ? value : min;
        max = value > max ? value : max;
    }
    set_bound(&statistics->min, &min, bytes);
    set_bound(&statistics->max, &max, bytes);
}

/* Readers disagree about where a NaN stands, so there are no bounds with one. Which of the zeros is
 * meant does not matter to a reader, so both bounds take both in, as parquet.thrift asks. */
static void find_of_doubles(const struct cells *cells, struct statistics *statistics)
{
    double min = INFINITY, max = -INFINITY;

    for (uint32_t i = 0; i < cells->count; i++) {
        double value;

        memcpy(&value, &cells->values[i], sizeof value);
        if (isnan(value))
            return;
        min = fmin(min, value);
        max = fmax(max, value);
    }
    min = min == 0 ? -0.0 : min;
    max = max == 0 ? 0.0 : max;
    set_bound(&statistics->min, &min, sizeof min);
    set_bound(&statistics->max, &max, sizeof max);
}

/* ---- Texts ---- */

struct text {
    const char *data;
    size_t bytes;
};

static int compare(const struct text *a, const struct text *b)
{
    size_t common = a->bytes < b->bytes ? a->bytes : b->bytes;
    int order = common ? memcmp(a->data, b->data, common) : 0;

    return order ? order : (a->bytes > b->bytes) - (a->bytes < b->bytes);
}

/* The first characters of a long text; they come before it. */
static void set_text(struct bound *bound, const struct text *text)
{
    size_t bytes = 0;

    if (text->bytes <= STATISTICS_TEXT_BYTES) {
        set_bound(bound, text->data, text->bytes);
        return;
    }
    for (size_t next = 0; next <= STATISTICS_TEXT_BYTES;) {
        bytes = next;
        next += utf8_length(text->data + next, text->bytes - next);
    }
    set_bound(bound, text->data, bytes);
    bound->exact = false;
}

/* What comes after a cut text: its last ASCII character that has a successor is raised, and what
 * follows is cut off. */
static void raise_text(struct bound *bound)
{
    while (bound->bytes && bound->data[bound->bytes - 1] >= 0x7f)
        bound->bytes--;
    if (bound->bytes)
        bound->data[bound->bytes - 1]++;
    else
        bound->known = false;
}

static void find_of_texts(const struct cells *cells, struct statistics *statistics)
{
    struct text min = {"", 0}, max = {"", 0};

    for (uint32_t id = 1; id <= cells->texts.count; id++) {
        struct text text;

        text.data = mp_intern_get(&cells->texts, id, &text.bytes);
        if (id == 1 || compare(&text, &min) < 0)
            min = text;
        if (id == 1 || compare(&text, &max) > 0)
            max = text;
    }
    set_text(&statistics->min, &min);
    set_text(&statistics->max, &max);
    if (!statistics->max.exact)
        raise_text(&statistics->max);
}

void statistics_find(const struct cells *cells, struct statistics *statistics)
{
    *statistics = (struct statistics){.null_count = cells->rows - cells->count};
    if (!cells->count)
        return;
    switch (cells->column->type) {
    case PARQUET_BOOL:
        find_of_integers(cells, 1, statistics);
        break;
    case PARQUET_INT32:
        find_of_integers(cells, sizeof(int32_t), statistics);
        break;
    case PARQUET_INT64:
        find_of_integers(cells, sizeof(int64_t), statistics);
        break;
    case PARQUET_DOUBLE:
        find_of_doubles(cells, statistics);
        break;
    case PARQUET_STRING:
        find_of_texts(cells, statistics);
        break;
    }
}
