/* A .zip whose members are stored as they are, as Perfetto reads it: sizes and checksum come
 * before a member, so the file must be seekable, and ZIP64 is not allowed.
 *
 *     zip_begin(&zip, out);
 *     zip_member(&zip, "rank-0.pftrace");
 *     zip_write(&zip, data, bytes);
 *     ...
 *     zip_end(&zip);
 *
 * Failures are sticky: zip.status, with a line in zip.why.
 */
#ifndef MP_EXPORT_PERFETTO_ZIP_H
#define MP_EXPORT_PERFETTO_ZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/data/storage.h"
#include "base/status.h"

struct zip {
    FILE *out;
    struct mp_buffer directory; /* the central one */
    uint64_t at;                /* bytes written */
    uint64_t member_at;         /* where its header stands */
    uint64_t member_bytes;
    uint32_t checksum;
    size_t entry; /* of the member, in `directory` */
    size_t members;
    bool open; /* a member */
    enum mp_status status;
    const char *why; /* static; NULL: see errno */
};

/* Begins a file. MP_ERR_ARGUMENT: `out` is not seekable. */
enum mp_status zip_begin(struct zip *zip, FILE *out);

/* Ends the member before, if there is one, and begins another. */
enum mp_status zip_member(struct zip *zip, const char *name);

enum mp_status zip_write(struct zip *zip, const void *data, size_t bytes);

/* Ends the last member and writes the directory. */
enum mp_status zip_end(struct zip *zip);

/* Frees the memory; the file stays open. */
void zip_free(struct zip *zip);

#endif
