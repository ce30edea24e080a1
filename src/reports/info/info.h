/* What is inside a trace: as text, its tables as CSV, everything as JSON. */
#ifndef MP_REPORTS_INFO_INFO_H
#define MP_REPORTS_INFO_INFO_H

#include "base/status.h"
#include "profile/profile.h"
#include "table/table.h"

/* Prints it. With CSV the warning goes to stderr. MP_ERR_IO or MP_ERR_MEMORY, with a text in
 * *error: nothing is printed. */
enum mp_status print_info(const struct report_out *out, struct profile *profile,
                          struct mp_error *error);

#endif
