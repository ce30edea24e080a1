/* The table of costs: names, texts and built-in values, from costs.def. */
#include "profile/costs/costs.h"

#include "base/poison.h"

static const struct {
    const char *name;
    const char *text;
    size_t offset;
    double builtin;
} table[] = {
#define COST(name, builtin, text) {#name, text, offsetof(struct costs, name), builtin},
#include "profile/costs/costs.def"
#undef COST
};

#define COST_COUNT (sizeof table / sizeof *table)

void costs_built_in(struct costs *costs)
{
#define COST(name, builtin, text) costs->name = (builtin);
#include "profile/costs/costs.def"
#undef COST
    costs->stack = 0;
}

bool costs_at(struct costs *costs, size_t i, const char **name, double **value, const char **text)
{
    if (i >= COST_COUNT)
        return false;
    if (name)
        *name = table[i].name;
    if (value)
        *value = (double *)(void *)((char *)costs + table[i].offset);
    if (text)
        *text = table[i].text;
    return true;
}
