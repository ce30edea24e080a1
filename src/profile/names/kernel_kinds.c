/* Looks a kernel's name up in the tables of kernel_kinds.def. The first rule that fits wins, so the
 * order in the tables matters.
 */
#include "profile/names/kernel_kinds.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

#include "base/poison.h"

/* ---- Kinds ---- */

struct rule {
    int answer;
    const char *text;
    const char *also;
};

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

/* Whether the text of a rule occurs in the name; `#` in it stands for a digit. An empty text always
 * does. */
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

/* The first rule that knows the name; NULL: none does, or there is no name. */
static const struct rule *find_rule(const struct rule *rules, size_t count, const char *name,
                                    bool any_case)
{
    for (size_t i = 0; name && i < count; i++) {
        if (contains(name, rules[i].text, any_case) && contains(name, rules[i].also, any_case))
            return &rules[i];
    }
    return NULL;
}

#define NOTHING(...)

#define KIND(kind, text, also, whose) {KERNEL_##kind, text, also},
#define PRECISION                     NOTHING
#define FRAMEWORK                     NOTHING
static const struct rule kind_rules[] = {
#include "profile/names/kernel_kinds.def"
};
#undef KIND
#undef PRECISION
#undef FRAMEWORK

#define KIND                                    NOTHING
#define PRECISION(precision, text, also, whose) {KERNEL_##precision, text, also},
#define FRAMEWORK                               NOTHING
static const struct rule precision_rules[] = {
#include "profile/names/kernel_kinds.def"
};
#undef KIND
#undef PRECISION
#undef FRAMEWORK

#define KIND                                    NOTHING
#define PRECISION                               NOTHING
#define FRAMEWORK(framework, text, also, whose) {KERNEL_##framework, text, also},
static const struct rule framework_rules[] = {
#include "profile/names/kernel_kinds.def"
};
#undef KIND
#undef PRECISION
#undef FRAMEWORK

enum kernel_kind kernel_kind_of(const char *name)
{
    const struct rule *rule = find_rule(kind_rules, COUNT(kind_rules), name, false);

    if (rule)
        return (enum kernel_kind)rule->answer;
    return kernel_uses_tensor_cores(name) ? KERNEL_MATRIX : KERNEL_OTHER;
}

enum kernel_precision kernel_precision_of(const char *name)
{
    const struct rule *rule = find_rule(precision_rules, COUNT(precision_rules), name, false);

    return rule ? (enum kernel_precision)rule->answer : KERNEL_UNKNOWN;
}

enum kernel_framework kernel_framework_of(const char *name)
{
    const struct rule *rule = find_rule(framework_rules, COUNT(framework_rules), name, false);

    return rule ? (enum kernel_framework)rule->answer : KERNEL_NO_FRAMEWORK;
}

/* ---- Rules ----
 *
 * Says what a kernel is by its name, by the rules of kernel_rules.def. The first rule that fits
 * wins, so the order in the table matters.
 */

#define RULE(answer, text, also, whose) {answer, text, also},

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
    const struct rule *rule = find_rule(tensor_rules, COUNT(tensor_rules), name, false);

    return rule ? (bool)rule->answer : name && has_shape(name);
}

bool kernel_communicates(const char *name)
{
    const struct rule *rule =
        find_rule(communication_rules, COUNT(communication_rules), name, true);

    return rule && rule->answer;
}
