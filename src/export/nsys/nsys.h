/* Nsight Systems' own exports, for which its users have scripts: `nsys export --type sqlite` and
 * `parquetdir`. docs/export.md says what is in them.
 *
 * All processes go into one file, as nsys does for a session. Each has a globalPid of its own, and
 * each host another hardware id in it. Times count from the earliest record of the export.
 */
#ifndef MP_EXPORT_NSYS_NSYS_H
#define MP_EXPORT_NSYS_NSYS_H

#include "export/common/format.h"

extern const struct export_format export_nsys_sqlite;
extern const struct export_format export_nsys_parquet;

#endif
