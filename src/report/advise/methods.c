/* How a gain was computed, in words and as a key of JSON. */
#include "report/advise/advise.h"

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
