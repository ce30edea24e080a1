/* What a kernel is for, how precise it is, and which framework it belongs to, as its name says, by
 * the rules of kernel_kinds.def. A name proves nothing: docs/advise.md says what follows from it.
 */
#ifndef MP_PROFILE_NAMES_KERNEL_KINDS_H
#define MP_PROFILE_NAMES_KERNEL_KINDS_H

#include <stdbool.h>

enum kernel_kind {
    KERNEL_OTHER,
    KERNEL_LAYOUT,     /* changes the order of a tensor's dimensions: NCHW, NHWC */
    KERNEL_SPLIT_K,    /* adds up the parts of a matrix product */
    KERNEL_CAST,       /* converts to another type, and does nothing else */
    KERNEL_BATCH_NORM, /* with given statistics: could be part of a convolution's weights */
    KERNEL_POINTWISE,
    KERNEL_MATRIX /* matrix product, convolution */
};

enum kernel_precision {
    KERNEL_UNKNOWN,
    KERNEL_HALF, /* 16 bits or fewer */
    KERNEL_TF32,
    KERNEL_FP32, /* without tensor cores */
    KERNEL_FP64
};

enum kernel_framework {
    KERNEL_NO_FRAMEWORK,
    KERNEL_PYTORCH,
    KERNEL_TENSORRT,
    KERNEL_CUPY,
    KERNEL_TENSORFLOW,
    KERNEL_XLA,
    KERNEL_FRAMEWORKS
};

/* `name` is in readable form; NULL is allowed and known to no rule. Time is linear in the length of
 * the name. */
enum kernel_kind kernel_kind_of(const char *name);
enum kernel_precision kernel_precision_of(const char *name);
enum kernel_framework kernel_framework_of(const char *name);

/* ---- What kernels use ----
 *
 * What kind of kernel a name stands for, by the rules of kernel_rules.def.
 */

/* `name` is in readable form (NAMES_READABLE). For NULL both answer false. Time is linear in the
 * length of the name. */
bool kernel_uses_tensor_cores(const char *name);
bool kernel_communicates(const char *name);

#endif
