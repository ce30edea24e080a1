/* Which kernels are profiled: nvprof's --kernels.
 *
 *     NAME                                   a regular expression for the kernel's name
 *     CONTEXT:STREAM:NAME:INVOCATION         each part may be empty: anything
 *
 * All parts are POSIX extended regular expressions. NAME may match any part of the name (`Add`
 * finds vecAdd, `^Add$` does not). The others are for numbers and must match the whole number (`1`
 * is not 12; `1|3`, `[0-9]`). INVOCATION counts the launches of a kernel of this name, from 1.
 *
 * C++'s `::` may stand in a name: `ns::add`, `::ns::add:2`. If the text has three colons or more,
 * the first two and the last one divide it, unless letters stand before the second.
 *
 * The expression is searched for in the mangled name, in the function's plain name, and in the
 * plain name with its scopes (kernel_name.h): `^add$`, `^ns::add$` and `3addIfE` all find
 * _ZN2ns3addIfEEvPf.
 */
#ifndef MP_BASE_SETTINGS_KERNEL_FILTER_H
#define MP_BASE_SETTINGS_KERNEL_FILTER_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum kernel_filter_part {
    KERNEL_FILTER_CONTEXT,
    KERNEL_FILTER_STREAM,
    KERNEL_FILTER_NAME,
    KERNEL_FILTER_INVOCATION,
    KERNEL_FILTER_PARTS
};

struct kernel_filter {
    regex_t parts[KERNEL_FILTER_PARTS];
    bool given[KERNEL_FILTER_PARTS];
};

/* Compiles `text`; empty or NULL matches everything. MP_ERR_ARGUMENT with one line that says which
 * part is wrong, MP_ERR_MEMORY; *filter is then empty. On success kernel_filter_free gives it
 * back. */
enum mp_status kernel_filter_parse(struct kernel_filter *filter, const char *text,
                                   struct mp_error *error);

/* A zeroed filter, or one that was given back, is empty. */
void kernel_filter_free(struct kernel_filter *filter);

/* Whether the filter selects this launch. `context` and `stream` are CUPTI's ids. `kernel` is the
 * mangled name; NULL means unknown, and only an empty NAME matches it. `invocation` counts from 1.
 * Any thread; glibc's regexec takes memory and a lock for a short time. */
bool kernel_filter_matches(const struct kernel_filter *filter, uint64_t context, uint64_t stream,
                           const char *kernel, uint64_t invocation);

#endif
