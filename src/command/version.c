/* Prints the version. The commit stands in build_id.c, which the Makefile writes, so that a new
 * commit leaves all other objects as they are. */

#include <stdio.h>
#include <zstd.h>

#include "base/settings/config.h"
#include "export/gzip.h"
#include "export/nvvp/nvvp.h"

#include "base/poison.h"

extern const char build_package[]; /* orders as dpkg does: tools/packages/version */
extern const char build_commit[];  /* "-": not built from a repository */

void print_version(void)
{
    const char *sqlite = nvvp_library();
    const char *zlib = gzip_library();

    printf("miniprof %s\n", MP_VERSION);
    printf("package  %s\n", build_package);
    printf("commit   %s\n", build_commit[0] == '-' ? "unknown" : build_commit);
    printf("zstd     %s\n", ZSTD_versionString());
    printf("SQLite   %s\n", sqlite ? sqlite : "none: without nvprof's files (.nvvp)");
    printf("zlib     %s\n", zlib ? zlib : "none: without compressed exports (.json.gz)");
    printf("CUPTI    of CUDA " MP_CUPTI_MIN_CUDA " to 13.x; faults known up to " //
           MP_CUPTI_NEWEST_CUDA "\n");
}
