/* Says what a kernel is by its name, by the rules of kernel_rules.def. The first rule that fits
 * wins, so the order in the table matters.
 */
#include "profile/names/kernel_rules.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

#include "base/poison.h"

struct rule {
    bool answer;
    const char *text;
    const char *also;
};

#define RULE(answer, text, also, whose) {answer, text, also},
#define NOTHING(...)

#define TENSOR        RULE
#define TENSOR_SHAPE  NOTHING
#define COMMUNICATION NOTHING
static const struct rule tensor_rules[] = {
#include "profile/names/kernel_rules.def"
};
#undef TENSOR
#undef TENSOR_SHAPE
#undef COMMUNICATION

#define TENSOR                      NOTHING
#define TENSOR_SHAPE(digits, whose) digits,
#define COMMUNICATION               NOTHING
static const char *const tensor_shapes[] = {
#include "profile/names/kernel_rules.def"
};
#undef TENSOR
#undef TENSOR_SHAPE
#undef COMMUNICATION

#define TENSOR        NOTHING
#define TENSOR_SHAPE  NOTHING
#define COMMUNICATION RULE
static const struct rule communication_rules[] = {
#include "profile/names/kernel_rules.def"
};
#undef TENSOR
#undef TENSOR_SHAPE
#undef COMMUNICATION

#define COUNT(table) (sizeof(table) / sizeof *(table))

static bool is_digit(char character)
{
    return character >= '0' && character <= '9';
}

/* Whether `text` stands at the begin of `name`. */
static bool begins(const char *name, const char *text, bool any_case)
{
    for (; *text; name++, text++) {
        bool same = *name == *text || (*text == '#' && is_digit(*name)) ||
                    (any_case && tolower((unsigned char)*name) == *text);

        if (!same || !*name)
            return false;
    }
    return true;
}

static bool contains(const char *name, const char *text, bool any_case)
{
    if (!*text)
        return true;
    for (; *name; name++) {
        if (begins(name, text, any_case))
            return true;
    }
    return false;
}

bool kernel_name_has(const char *name, const char *text)
{
    return contains(name, text, false);
}

/* The first rule that knows the name; NULL: none does. */
static const struct rule *find_rule(const struct rule *rules, size_t count, const char *name,
                                    bool any_case)
{
    for (size_t i = 0; i < count; i++) {
        if (contains(name, rules[i].text, any_case) && contains(name, rules[i].also, any_case))
            return &rules[i];
    }
    return NULL;
}

/* Whether the digits at `text`, all of them, are the size of a matrix instruction. */
static bool is_shape(const char *text)
{
    for (size_t i = 0; i < COUNT(tensor_shapes); i++) {
        size_t length = strlen(tensor_shapes[i]);

        if (!strncmp(text, tensor_shapes[i], length) && !is_digit(text[length]))
            return true;
    }
    return false;
}

static bool has_shape(const char *name)
{
    for (; *name; name++) {
        if (name[0] == '_' && name[1] && strchr(TENSOR_SHAPE_TYPES, name[1]) && is_shape(name + 2))
            return true;
    }
    return false;
}

bool kernel_uses_tensor_cores(const char *name)
{
    const struct rule *rule =
        name ? find_rule(tensor_rules, COUNT(tensor_rules), name, false) : NULL;

    return rule ? rule->answer : name && has_shape(name);
}

bool kernel_communicates(const char *name)
{
    const struct rule *rule =
        name ? find_rule(communication_rules, COUNT(communication_rules), name, true) : NULL;

    return rule && rule->answer;
}
