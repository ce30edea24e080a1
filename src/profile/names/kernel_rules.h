/* What kind of kernel a name stands for, by the rules of kernel_rules.def. */
#ifndef MP_PROFILE_NAMES_KERNEL_RULES_H
#define MP_PROFILE_NAMES_KERNEL_RULES_H

#include <stdbool.h>

/* `name` is in readable form (NAMES_READABLE). For NULL both answer false. Time is linear in the
 * length of the name. */
bool kernel_uses_tensor_cores(const char *name);
bool kernel_communicates(const char *name);

/* Whether the text of a rule occurs in the name; `#` in it stands for a digit. An empty text always
 * does. */
bool kernel_name_has(const char *name, const char *text);

#endif
