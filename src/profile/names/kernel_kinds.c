/* Looks a kernel's name up in the tables of kernel_kinds.def. The first rule that fits wins, so the
 * order in the tables matters.
 */
#include "profile/names/kernel_kinds.h"

#include <stddef.h>

#include "profile/names/kernel_rules.h"

#include "base/poison.h"

struct kind_rule {
    int answer;
    const char *text;
    const char *also;
};

#define NOTHING(...)

#define KIND(kind, text, also, whose) {KERNEL_##kind, text, also},
#define PRECISION                     NOTHING
#define FRAMEWORK                     NOTHING
static const struct kind_rule kind_rules[] = {
#include "profile/names/kernel_kinds.def"
};
#undef KIND
#undef PRECISION
#undef FRAMEWORK

#define KIND                                    NOTHING
#define PRECISION(precision, text, also, whose) {KERNEL_##precision, text, also},
#define FRAMEWORK                               NOTHING
static const struct kind_rule precision_rules[] = {
#include "profile/names/kernel_kinds.def"
};
#undef KIND
#undef PRECISION
#undef FRAMEWORK

#define KIND                                    NOTHING
#define PRECISION                               NOTHING
#define FRAMEWORK(framework, text, also, whose) {KERNEL_##framework, text, also},
static const struct kind_rule framework_rules[] = {
#include "profile/names/kernel_kinds.def"
};
#undef KIND
#undef PRECISION
#undef FRAMEWORK

#define COUNT(table) (sizeof(table) / sizeof *(table))

static const struct kind_rule *first_rule(const struct kind_rule *rules, size_t count,
                                          const char *name)
{
    for (size_t i = 0; name && i < count; i++) {
        if (kernel_name_has(name, rules[i].text) && kernel_name_has(name, rules[i].also))
            return &rules[i];
    }
    return NULL;
}

enum kernel_kind kernel_kind_of(const char *name)
{
    const struct kind_rule *rule = first_rule(kind_rules, COUNT(kind_rules), name);

    if (rule)
        return (enum kernel_kind)rule->answer;
    return kernel_uses_tensor_cores(name) ? KERNEL_MATRIX : KERNEL_OTHER;
}

enum kernel_precision kernel_precision_of(const char *name)
{
    const struct kind_rule *rule = first_rule(precision_rules, COUNT(precision_rules), name);

    return rule ? (enum kernel_precision)rule->answer : KERNEL_UNKNOWN;
}

enum kernel_framework kernel_framework_of(const char *name)
{
    const struct kind_rule *rule = first_rule(framework_rules, COUNT(framework_rules), name);

    return rule ? (enum kernel_framework)rule->answer : KERNEL_NO_FRAMEWORK;
}
