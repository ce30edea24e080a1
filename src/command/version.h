/* What `miniprof --version` prints: which miniprof this is and what it works with. */
#ifndef MP_COMMAND_VERSION_H
#define MP_COMMAND_VERSION_H

/* One fact a line on stdout: version, package and commit, libraries, CUPTI's versions. The first
 * line is `miniprof VERSION`, for scripts. */
void print_version(void);

#endif
