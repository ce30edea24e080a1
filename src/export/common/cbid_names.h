/* Names of the functions of CUDA by CUPTI's callback id: nvprof's files hold only the ids. */
#ifndef MP_EXPORT_COMMON_CBID_NAMES_H
#define MP_EXPORT_COMMON_CBID_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The name with its version suffix, *bytes long and not NUL-terminated; NULL when there is none. It
 * walks over all names before it, so ask once for each function. */
const char *cbid_name(bool driver, uint64_t cbid, size_t *bytes);

#endif
