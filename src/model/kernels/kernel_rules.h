/* What a kernel is by its name: the rules of kernel_rules.def. */
#ifndef MP_MODEL_KERNELS_KERNEL_RULES_H
#define MP_MODEL_KERNELS_KERNEL_RULES_H

#include <stdbool.h>

/* `name` in readable form (NAMES_READABLE); NULL is neither. Time is linear in its length. */
bool kernel_uses_tensor_cores(const char *name);
bool kernel_communicates(const char *name);

#endif
