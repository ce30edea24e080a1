/* Writes a .zip without compression: local headers, whose sizes are filled in when a member ends,
 * and the central directory. APPNOTE.TXT 6.3 of PKWARE has the layout.
 */
#include "export/perfetto/zip.h"

#include <string.h>

#include "base/poison.h"

#define LOCAL_SIGNATURE   UINT32_C(0x04034b50)
#define CENTRAL_SIGNATURE UINT32_C(0x02014b50)
#define END_SIGNATURE     UINT32_C(0x06054b50)
#define VERSION           20    /* Perfetto refuses more */
#define FLAGS             0x800 /* names are UTF-8 */
#define DATE              0x21  /* 1 January 1980: nothing here depends on when it is written */
#define SIZES_AT          14    /* in a local header: checksum and twice the size */
#define CENTRAL_SIZES_AT  16
#define MAX_BYTES         UINT32_MAX
#define MAX_MEMBERS       UINT16_MAX

static enum mp_status fail(struct zip *zip, enum mp_status status, const char *why)
{
    if (zip->status == MP_OK) {
        zip->status = status;
        zip->why = why;
    }
    return zip->status;
}

/* The checksum of APPNOTE: CRC-32, reflected, polynomial 0xedb88320; a table for four bits. */
static uint32_t checksum(uint32_t sum, const uint8_t *data, size_t bytes)
{
    static const uint32_t table[256 / 16] = {0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac,
                                             0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
                                             0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
                                             0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};

    sum = ~sum;
    for (size_t i = 0; i < bytes; i++) {
        sum ^= data[i];
        sum = sum >> 4 ^ table[sum & 15];
        sum = sum >> 4 ^ table[sum & 15];
    }
    return ~sum;
}

static void put(uint8_t *to, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        to[i] = (uint8_t)(value >> 8 * i);
}

static void append(struct mp_buffer *bytes, uint64_t value, unsigned size)
{
    uint8_t little[8];

    put(little, value, size);
    mp_buffer_append(bytes, little, size);
}

/* Appends what a local header and an entry of the directory have in common. */
static void append_header(struct mp_buffer *bytes, const char *name)
{
    append(bytes, VERSION, 2);
    append(bytes, FLAGS, 2);
    append(bytes, 0, 2); /* stored */
    append(bytes, 0, 2);
    append(bytes, DATE, 2);
    append(bytes, 0, 4);
    append(bytes, 0, 4);
    append(bytes, 0, 4);
    append(bytes, strlen(name), 2);
    append(bytes, 0, 2);
}

static enum mp_status write_out(struct zip *zip, const void *data, size_t bytes)
{
    if (zip->status == MP_OK && bytes && fwrite(data, 1, bytes, zip->out) != bytes)
        return fail(zip, MP_ERR_IO, NULL);
    zip->at += bytes;
    return zip->status;
}

enum mp_status zip_begin(struct zip *zip, FILE *out)
{
    *zip = (struct zip){.out = out};
    if (fseeko(out, 0, SEEK_CUR))
        return fail(zip, MP_ERR_ARGUMENT,
                    "a .zip is written to a file, not to a pipe: name one with -o");
    return MP_OK;
}

/* Writes checksum and sizes, which are known now, into the header and the directory's entry. */
static enum mp_status end_member(struct zip *zip)
{
    uint8_t sizes[12];

    if (!zip->open || zip->status)
        return zip->status;
    zip->open = false;
    put(sizes, zip->checksum, 4);
    put(sizes + 4, zip->member_bytes, 4);
    put(sizes + 8, zip->member_bytes, 4);
    memcpy(zip->directory.data + zip->entry + CENTRAL_SIZES_AT, sizes, sizeof sizes);
    if (fseeko(zip->out, (off_t)zip->member_at + SIZES_AT, SEEK_SET) ||
        fwrite(sizes, 1, sizeof sizes, zip->out) != sizeof sizes || fseeko(zip->out, 0, SEEK_END))
        return fail(zip, MP_ERR_IO, NULL);
    return MP_OK;
}

enum mp_status zip_member(struct zip *zip, const char *name)
{
    struct mp_buffer header = {.data = NULL};

    MP_TRY(end_member(zip));
    if (zip->members == MAX_MEMBERS)
        return fail(zip, MP_ERR_LIMIT, "a .zip holds 65535 traces");
    zip->members++;
    zip->member_at = zip->at;
    zip->member_bytes = 0;
    zip->checksum = 0;
    zip->entry = zip->directory.size;
    append(&zip->directory, CENTRAL_SIGNATURE, 4);
    append(&zip->directory, VERSION, 2);
    append_header(&zip->directory, name);
    append(&zip->directory, 0, 2 + 2 + 2);
    append(&zip->directory, 0, 4);
    append(&zip->directory, zip->member_at, 4);
    mp_buffer_append_text(&zip->directory, name);
    append(&header, LOCAL_SIGNATURE, 4);
    append_header(&header, name);
    mp_buffer_append_text(&header, name);
    if (header.status || zip->directory.status)
        fail(zip, MP_ERR_MEMORY, NULL);
    else
        write_out(zip, header.data, header.size);
    mp_buffer_free(&header);
    zip->open = zip->status == MP_OK;
    return zip->status;
}

static enum mp_status check_room(struct zip *zip, size_t bytes)
{
    if (zip->at + bytes <= MAX_BYTES)
        return MP_OK;
    return fail(zip, MP_ERR_LIMIT,
                "a .zip that Perfetto reads has at most 4 GiB: export fewer traces, or each to a "
                ".pftrace of its own");
}

enum mp_status zip_write(struct zip *zip, const void *data, size_t bytes)
{
    MP_TRY(check_room(zip, bytes));
    zip->checksum = checksum(zip->checksum, data, bytes);
    zip->member_bytes += bytes;
    return write_out(zip, data, bytes);
}

enum mp_status zip_end(struct zip *zip)
{
    struct mp_buffer end = {.data = NULL};
    uint64_t at = zip->at;

    MP_TRY(end_member(zip));
    MP_TRY(check_room(zip, zip->directory.size));
    append(&end, END_SIGNATURE, 4);
    append(&end, 0, 2 + 2);
    append(&end, zip->members, 2);
    append(&end, zip->members, 2);
    append(&end, zip->directory.size, 4);
    append(&end, at, 4);
    append(&end, 0, 2);
    if (end.status)
        fail(zip, MP_ERR_MEMORY, NULL);
    write_out(zip, zip->directory.data, zip->directory.size);
    write_out(zip, end.data, end.size);
    mp_buffer_free(&end);
    return zip->status;
}

void zip_free(struct zip *zip)
{
    mp_buffer_free(&zip->directory);
}
