/* How a gain was computed and what it is, in words and as keys of JSON. */
#include "reports/advise/print.h"

#include "base/poison.h"

static const struct {
    const char *text;
    const char *key;
} methods[] = {
    [ADVISE_BY_REPLAY] = {"by replay", "replay"},
    [ADVISE_BY_REPLAY_BOUNDED] = {"by replay, bounded", "replay_bounded"},
    [ADVISE_BY_TIMES] = {"by recorded times", "times"},
};

const char *advise_method_text(enum advise_method method)
{
    return methods[method].text;
}

const char *advise_method_key(enum advise_method method)
{
    return methods[method].key;
}

const char *advise_certainty_key(enum advise_certainty certainty)
{
    return certainty == ADVISE_BOUND ? "bound" : "estimate";
}

const char *advise_certainty_text(enum advise_certainty certainty)
{
    return certainty == ADVISE_BOUND ? "a bound" : "an estimate";
}
