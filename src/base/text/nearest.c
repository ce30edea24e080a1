/* Approximate search: the typed text against every part of a name at once (the columns of the table
 * of edit distances, whose first row is 0 everywhere), and against whole names.
 */
#include "base/text/nearest.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/poison.h"

#define LONGEST            256
#define SHORTEST_BEGINNING 3
#define LENGTH_SCALE                                                                               \
    1024 /* above any length, so that length decides between equal distances only */

static unsigned min(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* How many letters of `typed` do not fit the best part of `name`. */
static unsigned distance_inside(const char *typed, size_t length, const char *name, size_t bytes)
{
    unsigned column[LONGEST + 1];
    unsigned best;

    for (unsigned i = 0; i <= length; i++)
        column[i] = i;
    best = column[length];
    for (size_t at = 0; at < bytes; at++) {
        unsigned diagonal = column[0];

        for (size_t i = 1; i <= length; i++) {
            unsigned changed = diagonal + (tolower((unsigned char)typed[i - 1]) !=
                                           tolower((unsigned char)name[at]));

            diagonal = column[i];
            column[i] = min(changed, min(column[i], column[i - 1]) + 1);
        }
        best = min(best, column[length]);
    }
    return best;
}

void mp_nearest_offer(struct mp_nearest *nearest, const char *name)
{
    size_t length = strnlen(nearest->typed, LONGEST);
    size_t bytes = strnlen(name, LONGEST);
    unsigned distance =
        distance_inside(nearest->typed, length, name, bytes) * LENGTH_SCALE + (unsigned)bytes;
    size_t at = nearest->count;

    while (at && nearest->distances[at - 1] > distance)
        at--;
    if (at == MP_NEAREST_MAX)
        return;
    if (nearest->count < MP_NEAREST_MAX)
        nearest->count++;
    for (size_t i = nearest->count - 1; i > at; i--) {
        nearest->items[i] = nearest->items[i - 1];
        nearest->distances[i] = nearest->distances[i - 1];
    }
    nearest->items[at] = name;
    nearest->distances[at] = distance;
}

const char *mp_nearest_list(const struct mp_nearest *nearest, int max, char *text, size_t size)
{
    size_t used = 0;

    *text = '\0';
    for (size_t i = 0; i < nearest->count && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s'%.*s'", i ? ", " : "", max,
                                 nearest->items[i]);
    return text;
}

/* ---- The one that was meant ---- */

static bool same_letter(char a, char b)
{
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* Of whole words; `rows` are the last three rows of the table. */
static unsigned distance_of_words(const char *a, size_t a_bytes, const char *b, size_t b_bytes)
{
    unsigned rows[3][LONGEST + 1];

    for (unsigned j = 0; j <= b_bytes; j++)
        rows[0][j] = j;
    for (unsigned i = 1; i <= a_bytes; i++) {
        unsigned *row = rows[i % 3];
        const unsigned *above = rows[(i + 2) % 3];
        const unsigned *two_above = rows[(i + 1) % 3];

        row[0] = i;
        for (size_t j = 1; j <= b_bytes; j++) {
            row[j] =
                min(above[j - 1] + !same_letter(a[i - 1], b[j - 1]), min(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && same_letter(a[i - 1], b[j - 2]) &&
                same_letter(a[i - 2], b[j - 1]))
                row[j] = min(row[j], two_above[j - 2] + 1);
        }
    }
    return rows[a_bytes % 3][b_bytes];
}

/* A name that was cut or made longer is far by its letters: cuda-graph-trace, iter. */
static void offer_beginning(struct mp_meant *meant, const char *spelling, const char *name)
{
    size_t typed = strlen(meant->typed), length = strlen(spelling);
    size_t shorter = typed < length ? typed : length;
    size_t apart = typed + length - 2 * shorter;

    if (shorter < SHORTEST_BEGINNING || strncmp(meant->typed, spelling, shorter) != 0 ||
        (typed > length && meant->typed[length] != '-') ||
        (meant->beginning && meant->apart <= apart))
        return;
    meant->beginning = name;
    meant->apart = apart;
}

void mp_meant_offer_as(struct mp_meant *meant, const char *spelling, const char *name)
{
    unsigned distance = distance_of_words(meant->typed, strnlen(meant->typed, LONGEST), spelling,
                                          strnlen(spelling, LONGEST));
    bool equal = meant->name && distance == meant->distance;

    offer_beginning(meant, spelling, name);
    if (meant->name && distance > meant->distance)
        return;
    meant->tie = equal && (meant->tie || strcmp(meant->name, name) != 0);
    meant->name = name;
    meant->distance = distance;
}

void mp_meant_offer(struct mp_meant *meant, const char *name)
{
    mp_meant_offer_as(meant, name, name);
}

const char *mp_meant_name(const struct mp_meant *meant)
{
    size_t length = strnlen(meant->typed, LONGEST);

    if (meant->name && !meant->tie && (size_t)3 * meant->distance <= length)
        return meant->name;
    return meant->beginning;
}
