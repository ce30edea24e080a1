/* Text that is printed into memory, by a stream. As open_memstream, but no failure is overlooked:
 * glibc's stream drops what it has no room for, and neither ferror nor fclose tells.
 */
#ifndef MP_BASE_DATA_MEMORY_FILE_H
#define MP_BASE_DATA_MEMORY_FILE_H

#include <stddef.h>
#include <stdio.h>

/* A stream to be written, or NULL: out of memory. fclose sets *text, which the caller frees and
 * which ends with a NUL, and *bytes without it. If anything found no room, fclose fails and *text
 * is NULL. rewind begins anew; ftell works. One thread at a time. */
FILE *memory_file_open(char **text, size_t *bytes);

#endif
