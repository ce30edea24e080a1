/* Reads times as settings give them, such as "30s" and "1.5ms". Numbers are read as integers with
 * nine decimals, because strtod depends on the program's locale.
 */
#include "base/text/duration.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

#include "base/text/strings.h"

#include "base/poison.h"

#define LONGEST_NS      (UINT64_C(1) << 62)
#define FRACTION_DIGITS 9u
#define FRACTION_ONE    UINT64_C(1000000000) /* 10^FRACTION_DIGITS */
#define SECOND_NS       UINT64_C(1000000000)
#define MAX_FACTOR      1000u

/* A number with nine digits behind the point, as an integer. */
struct fixed {
    uint64_t whole;
    uint64_t fraction; /* in 1e-9 */
};

static const struct unit {
    const char *name;
    uint64_t ns;
} units[] = {
    {"ns", 1},
    {"us", 1000},
    {"ms", 1000000},
    {"s", SECOND_NS},
    {"min", 60 * SECOND_NS},
    {"h", 3600 * SECOND_NS},
};

/* Reads the number that `text` begins with. Returns what follows it, or NULL if there is no number.
 */
static const char *parse_number(const char *text, struct fixed *number)
{
    uint64_t one = FRACTION_ONE;

    *number = (struct fixed){.whole = 0};
    if (!isdigit((unsigned char)*text))
        return NULL;
    for (; isdigit((unsigned char)*text); text++) {
        if (number->whole > LONGEST_NS / 10)
            return NULL;
        number->whole = number->whole * 10 + (uint64_t)(*text - '0');
    }
    if (*text != '.')
        return text;
    if (!isdigit((unsigned char)*++text))
        return NULL;
    for (; isdigit((unsigned char)*text); text++) {
        one /= 10;
        if (!one)
            return NULL;
        number->fraction += (uint64_t)(*text - '0') * one;
    }
    return text;
}

bool mp_duration_parse(const char *text, uint64_t *ns)
{
    struct fixed number;
    const char *unit = parse_number(text, &number);
    size_t i;

    for (i = 0; unit && i < sizeof(units) / sizeof(units[0]); i++) {
        uint64_t each = units[i].ns;

        if (!mp_text_equal(unit, units[i].name))
            continue;
        if (number.whole > LONGEST_NS / each)
            return false;
        /* The fraction is computed in two parts, so that no product overflows: each / FRACTION_ONE
         * is whole or 0. */
        *ns = number.whole * each + (each >= FRACTION_ONE ? number.fraction * (each / FRACTION_ONE)
                                                          : number.fraction * each / FRACTION_ONE);
        return true;
    }
    return false;
}

bool mp_flight_check(const char *text)
{
    uint64_t ns;

    return mp_duration_parse(text, &ns) && ns >= SECOND_NS && ns <= 3600 * SECOND_NS;
}

/* "p" and two digits. */
static bool parse_percent(const char *text, struct mp_slow_step *slow, const char **rest)
{
    if (text[0] != 'p' || !isdigit((unsigned char)text[1]) || !isdigit((unsigned char)text[2]))
        return false;
    slow->percent = (unsigned)(text[1] - '0') * 10 + (unsigned)(text[2] - '0');
    *rest = text + 3;
    return slow->percent > 0;
}

bool mp_slow_step_parse(const char *text, struct mp_slow_step *slow)
{
    struct fixed number;
    const char *rest;

    *slow = (struct mp_slow_step){.factor = 1};
    if (!parse_percent(text, slow, &rest))
        return mp_duration_parse(text, &slow->limit_ns) && slow->limit_ns > 0;
    if (!*rest)
        return true;
    if (*rest != 'x')
        return false;
    rest = parse_number(rest + 1, &number);
    if (!rest || *rest || number.whole > MAX_FACTOR)
        return false;
    slow->factor = (double)number.whole + (double)number.fraction / 1e9;
    return slow->factor > 0 && slow->factor <= MAX_FACTOR;
}

bool mp_slow_step_check(const char *text)
{
    struct mp_slow_step slow;

    return mp_slow_step_parse(text, &slow);
}
