/* Finds the next chunk in damaged bytes: it looks for the magic number and believes a header only
 * if its checksum is right. It reads in windows, so a large gap costs no memory.
 */
#include "trace/read/scan.h"
#include "base/data/hash.h"
#include "base/io.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/poison.h"

#define FIRST_SCAN_BYTES 4096  /* of the first search for a chunk header, which is usually near */
#define SCAN_BYTES       65536 /* of later ones */

bool mp_chunk_header_intact(const struct mp_chunk_header *header)
{
    size_t checked =
        offsetof(struct mp_chunk_header, checksum) - offsetof(struct mp_chunk_header, magic);
    return header->skippable_magic == MP_SKIPPABLE_MAGIC &&
           header->skippable_bytes == sizeof *header - 8 &&
           !memcmp(header->magic, MP_CHUNK_MAGIC, sizeof header->magic) &&
           mp_checksum64(header->magic, checked) == header->checksum;
}

/* Position of the first intact header that begins in `bytes` and ends within `size`; -1 if there is
 * none. */
static ptrdiff_t scan_window(const uint8_t *bytes, size_t size)
{
    const uint8_t *last = bytes + size - sizeof(struct mp_chunk_header);
    const uint8_t *at = bytes;
    while (at <= last && (at = memchr(at, MP_SKIPPABLE_MAGIC & 0xFF, (size_t)(last - at) + 1))) {
        struct mp_chunk_header header;
        memcpy(&header, at, sizeof header);
        if (mp_chunk_header_intact(&header))
            return at - bytes;
        at++;
    }
    return -1;
}

enum mp_status mp_scan_chunk(int fd, uint64_t from, uint64_t end, uint64_t *found)
{
    uint8_t *window = malloc(SCAN_BYTES);
    size_t max = FIRST_SCAN_BYTES;
    enum mp_status status = window ? MP_OK : MP_ERR_MEMORY;
    *found = end;
    while (status == MP_OK && end - from >= sizeof(struct mp_chunk_header)) {
        size_t size = end - from < max ? (size_t)(end - from) : max;
        if (mp_pread_exact(fd, window, size, from, NULL) != MP_OK) {
            status = MP_ERR_IO;
            break;
        }
        ptrdiff_t at = scan_window(window, size);
        if (at >= 0) {
            *found = from + (uint64_t)at;
            break;
        }
        from += size - sizeof(struct mp_chunk_header) + 1;
        max = SCAN_BYTES;
    }
    free(window);
    return status;
}
