/* The names that are nearest to what somebody typed, for messages about unknown names. */
#ifndef MP_BASE_TEXT_NEAREST_H
#define MP_BASE_TEXT_NEAREST_H

#include <stdbool.h>
#include <stddef.h>

#define MP_NEAREST_MAX 5

/* Zeroed, with `typed` set, it is ready. The names are not copied: they must outlive it. */
struct mp_nearest {
    const char *typed;
    const char *items[MP_NEAREST_MAX]; /* the nearest first; of equal ones the first offered */
    unsigned distances[MP_NEAREST_MAX];
    size_t count;
};

/* Considers a name. The distance is the number of letters to insert, remove or change (Levenshtein,
 * without regard to case), so that the typed text stands somewhere inside of the name. Of names
 * that contain it equally well, the shorter is nearer. Looks at the first 256 bytes of both. */
void mp_nearest_offer(struct mp_nearest *nearest, const char *name);

/* "'a', 'b', 'c'" into `text`; names are cut at `most` bytes. Returns `text`. */
const char *mp_nearest_list(const struct mp_nearest *nearest, int max, char *text, size_t size);

/* ---- The one that was meant ---- */

/* Zeroed, with `typed` set, it is ready. Names are not copied. */
struct mp_meant {
    const char *typed;
    const char *name;
    unsigned distance;
    bool tie;
    /* A name of which one is the beginning of the other, at a dash if the typed text is longer: */
    const char *beginning;
    size_t apart; /* difference of the two lengths */
};

/* Considers a whole name. The distance counts letters inserted, removed or changed, and neighbours
 * that changed places (Damerau and Levenshtein), without regard to case. */
void mp_meant_offer(struct mp_meant *meant, const char *name);

/* The same for another spelling of `name`, which is what mp_meant_name returns then. Two spellings
 * of one name are no tie. */
void mp_meant_offer_as(struct mp_meant *meant, const char *spelling, const char *name);

/* The name that was probably meant: at most one letter in three differs. If there is none, or a
 * tie: the name nearest in length that the typed text begins (iter) or continues
 * (cuda-graph-trace). NULL if neither. */
const char *mp_meant_name(const struct mp_meant *meant);

#endif
