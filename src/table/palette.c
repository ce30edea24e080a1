/* The few colours of a terminal: bold, faint, red, green, yellow. */
#include "table/palette.h"

#include <string.h>

#include "base/poison.h"

const char *report_tone_text(enum report_tone tone)
{
    static const char *const texts[] = {
        [REPORT_TONE_PLAIN] = "",           [REPORT_TONE_TITLE] = "\033[1m",
        [REPORT_TONE_STRONG] = "\033[1m",   [REPORT_TONE_QUIET] = "\033[2m",
        [REPORT_TONE_BAD] = "\033[31m",     [REPORT_TONE_GOOD] = "\033[32m",
        [REPORT_TONE_WARNING] = "\033[33m",
    };

    return texts[tone];
}

void report_tone_begin(FILE *out, const struct report_view *view, enum report_tone tone)
{
    if (view && view->colour)
        fputs(report_tone_text(tone), out);
}

void report_tone_end(FILE *out, const struct report_view *view, enum report_tone tone)
{
    if (view && view->colour && tone != REPORT_TONE_PLAIN)
        fputs(REPORT_TONE_OFF, out);
}

enum report_tone report_tone_of_word(const char *word, size_t bytes)
{
    static const struct {
        const char *word;
        enum report_tone tone;
    } words[] = {
        {"slower", REPORT_TONE_BAD},
        {"more", REPORT_TONE_BAD},
        {"faster", REPORT_TONE_GOOD},
        {"less", REPORT_TONE_GOOD},
    };

    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strlen(words[i].word) == bytes && !memcmp(words[i].word, word, bytes))
            return words[i].tone;
    }
    return REPORT_TONE_PLAIN;
}
