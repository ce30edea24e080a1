/* Opens a trace: its header, and the index if there is one.
 *
 * The file itself says how long its index is, and the file may be forged. So the index is read in
 * blocks, and the memory for it does not depend on its length.
 */
#include "trace/reader.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/data/hash.h"
#include "base/io.h"
#include "base/status.h"

#include "base/poison.h"

/* ---- Damaged files ----
 *
 * Finds the next chunk in damaged bytes: it looks for the magic number and believes a header only
 * if its checksum is right. It reads in windows, so a large gap costs no memory.
 */

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

#define DAMAGED_HEADER "the header of '%s' is damaged"

/* A header with a correct checksum is as it was written. Only then may its version refuse it. */
static enum mp_status check_version(const struct mp_file_header *header, const char *path,
                                    struct mp_error *error)
{
    if (header->version == 0)
        return mp_error_set(error, MP_ERR_DAMAGED, DAMAGED_HEADER, path);
    if (header->version > MP_FORMAT_VERSION)
        return mp_error_set(error, MP_ERR_VERSION,
                            "'%s' has format version %u, this miniprof reads up to %u: update it",
                            path, header->version, MP_FORMAT_VERSION);
    if (header->features & ~MP_FEATURES_KNOWN)
        return mp_error_set(error, MP_ERR_VERSION,
                            "'%s' uses format features that this miniprof does not know: update it",
                            path);
    return MP_OK;
}

/* Reads the text after the fixed part and verifies both by the checksum. */
static enum mp_status read_text(struct mp_trace *trace, const struct mp_file_header *header,
                                const char *path, struct mp_error *error)
{
    size_t checked = sizeof *header - 8 + header->text_bytes;
    uint64_t stored;
    if (header->text_bytes > MP_MAX_HEADER_BYTES ||
        header->skippable_bytes != checked + sizeof stored ||
        trace->bytes < 8 + checked + sizeof stored)
        return mp_error_set(error, MP_ERR_DAMAGED, DAMAGED_HEADER, path);
    char *bytes = malloc(checked + sizeof stored + 1);
    if (!bytes)
        return mp_error_set(error, MP_ERR_MEMORY, "out of memory");
    enum mp_status status = mp_pread_exact(trace->fd, bytes, checked + sizeof stored, 8, error);
    if (status == MP_OK) {
        memcpy(&stored, bytes + checked, sizeof stored);
        if (mp_checksum64(bytes, checked) != stored)
            status = mp_error_set(error, MP_ERR_DAMAGED, DAMAGED_HEADER, path);
    }
    if (status != MP_OK) {
        free(bytes);
        return status;
    }
    bytes[checked] = '\0';
    memmove(bytes, bytes + sizeof *header - 8, header->text_bytes + 1);
    trace->text = bytes;
    trace->header_bytes = 8 + header->skippable_bytes;
    return check_version(header, path, error);
}

/* Cuts "key=value\n" lines into strings, in place. Lines without '=' are skipped. */
static enum mp_status split_text(struct mp_trace *trace, struct mp_error *error)
{
    size_t lines = 1;
    for (const char *at = trace->text; *at; at++)
        lines += *at == '\n';
    trace->properties = calloc(lines, sizeof *trace->properties);
    if (!trace->properties)
        return mp_error_set(error, MP_ERR_MEMORY, "out of memory");
    char *line = trace->text;
    while (*line) {
        char *end = line + strcspn(line, "\n");
        char *next = *end ? end + 1 : end;
        *end = '\0';
        char *equals = strchr(line, '=');
        if (equals) {
            *equals = '\0';
            trace->properties[trace->property_count++] = (struct mp_property){line, equals + 1};
        }
        line = next;
    }
    return MP_OK;
}

static enum mp_status read_header(struct mp_trace *trace, const char *path, struct mp_error *error)
{
    struct mp_file_header header;
    if (trace->bytes == 0)
        return mp_error_set(error, MP_ERR_FORMAT, "'%s' is empty", path);
    if (trace->bytes < sizeof header)
        return mp_error_set(error, MP_ERR_FORMAT, "'%s' is not a miniprof trace", path);
    MP_TRY(mp_pread_exact(trace->fd, &header, sizeof header, 0, error));
    if (header.skippable_magic != MP_SKIPPABLE_MAGIC ||
        memcmp(header.magic, MP_HEADER_MAGIC, sizeof header.magic) != 0)
        return mp_error_set(error, MP_ERR_FORMAT, "'%s' is not a miniprof trace", path);
    MP_TRY(read_text(trace, &header, path, error));
    return split_text(trace, error);
}

/* Called after a header that cannot be read, because chunks may still follow it. Otherwise returns
 * `status`; the caller's error already holds the text. */
static enum mp_status without_header(struct mp_trace *trace, enum mp_status status)
{
    uint64_t end = sizeof(struct mp_file_header) + MP_MAX_HEADER_BYTES + sizeof(uint64_t) +
                   sizeof(struct mp_chunk_header);
    uint64_t found;
    if (status != MP_ERR_FORMAT && status != MP_ERR_DAMAGED)
        return status;
    if (end > trace->bytes)
        end = trace->bytes;
    if (mp_scan_chunk(trace->fd, 0, end, &found) != MP_OK || found == end)
        return status;
    trace->header_lost = true;
    trace->header_bytes = found;
    return MP_OK;
}

/* ---- The index ---- */

#define INDEX_BLOCK_ENTRIES 512 /* read at once: 20 KiB */

/* What is kept of the entries that were read. */
struct index_walk {
    mp_checksum_state checksum;
    uint64_t chunks_end; /* of the last entry's chunk */
    uint64_t rows;
};

/* Returns false if the chunks of these entries overlap or go backwards, which no writer makes. A
 * sparse file may hold any number of zeros; taken as entries, they end the walk in its first block.
 */
static bool take_entries(struct index_walk *walk, const struct mp_index_entry *entries,
                         size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t bytes = sizeof(struct mp_chunk_header) + (uint64_t)entries[i].packed_bytes;
        if (entries[i].offset < walk->chunks_end || entries[i].offset > UINT64_MAX - bytes)
            return false;
        walk->chunks_end = entries[i].offset + bytes;
        walk->rows += entries[i].rows;
    }
    mp_checksum_add(&walk->checksum, entries, count * sizeof *entries);
    return true;
}

/* Reads `count` entries at `offset`, a block at a time. Returns false if they are not an index's
 * entries. */
static bool walk_entries(const struct mp_trace *trace, uint64_t offset, uint32_t count,
                         struct index_walk *walk)
{
    struct mp_index_entry block[INDEX_BLOCK_ENTRIES];
    while (count) {
        uint32_t some = count < INDEX_BLOCK_ENTRIES ? count : INDEX_BLOCK_ENTRIES;
        if (mp_pread_exact(trace->fd, block, some * sizeof *block, offset, NULL) != MP_OK ||
            !take_entries(walk, block, some))
            return false;
        offset += some * sizeof *block;
        count -= some;
    }
    return true;
}

/* The index is a convenience: if it is wrong, the chunks are still read one by one. */
static void read_index(struct mp_trace *trace)
{
    struct mp_index_header header;
    uint64_t tail[2]; /* checksum, bytes of the frame */
    if (trace->bytes < trace->header_bytes + sizeof header + sizeof tail ||
        mp_pread_exact(trace->fd, tail, sizeof tail, trace->bytes - sizeof tail, NULL) != MP_OK)
        return;
    uint64_t bytes = tail[1];
    if (bytes < sizeof header + sizeof tail || bytes > trace->bytes - trace->header_bytes)
        return;
    uint64_t at = trace->bytes - bytes;
    if (mp_pread_exact(trace->fd, &header, sizeof header, at, NULL) != MP_OK ||
        header.skippable_magic != MP_SKIPPABLE_MAGIC || header.skippable_bytes != bytes - 8 ||
        memcmp(header.magic, MP_INDEX_MAGIC, sizeof header.magic) != 0 ||
        bytes - sizeof header - sizeof tail !=
            (uint64_t)header.entries * sizeof(struct mp_index_entry))
        return;
    struct index_walk walk = {.rows = 0};
    mp_checksum_begin(&walk.checksum);
    mp_checksum_add(&walk.checksum, header.magic, sizeof header - 8);
    if (!walk_entries(trace, at + sizeof header, header.entries, &walk) ||
        mp_checksum_end(&walk.checksum) != tail[0])
        return;
    trace->index = (struct mp_index){true, header.entries, walk.rows, header.dropped};
    trace->index_offset = at;
}

enum mp_status mp_trace_open(const char *path, struct mp_trace **result, struct mp_error *error)
{
    *result = NULL;
    struct mp_trace *trace = calloc(1, sizeof *trace);
    if (!trace)
        return mp_error_set(error, MP_ERR_MEMORY, "out of memory");
    trace->fd = -1;
    enum mp_status status = mp_open_file(path, &trace->fd, &trace->bytes, error);
    if (status == MP_OK)
        status = without_header(trace, read_header(trace, path, error));
    if (status != MP_OK) {
        mp_trace_close(trace);
        return status;
    }
    trace->data_bytes = mp_data_bytes(trace->fd, trace->bytes);
    read_index(trace);
    *result = trace;
    return MP_OK;
}

enum mp_status mp_trace_follow(const char *path, struct mp_trace **result, struct mp_error *error)
{
    enum mp_status status = mp_trace_open(path, result, error);
    struct mp_trace *trace = *result;
    if (!trace)
        return status;
    trace->growing = !trace->index.present;
    trace->path = strdup(path);
    if (trace->path)
        return MP_OK;
    mp_trace_close(trace);
    *result = NULL;
    return mp_error_set(error, MP_ERR_MEMORY, "out of memory");
}

enum mp_status mp_reader_refresh(struct mp_trace *trace, bool *removed, struct mp_error *error)
{
    struct stat ours, named;
    if (fstat(trace->fd, &ours) != 0)
        return mp_error_set(error, MP_ERR_IO, "cannot look at '%s': %m", trace->path);
    *removed = stat(trace->path, &named) != 0 || named.st_ino != ours.st_ino ||
               named.st_dev != ours.st_dev;
    trace->bytes = (uint64_t)ours.st_size;
    trace->data_bytes = mp_data_bytes(trace->fd, trace->bytes);
    if (!trace->growing)
        return MP_OK;
    read_index(trace);
    trace->growing = !trace->index.present;
    return MP_OK;
}

void mp_trace_close(struct mp_trace *trace)
{
    if (!trace)
        return;
    if (trace->fd >= 0)
        close(trace->fd);
    free(trace->properties);
    free(trace->text);
    free(trace->path);
    free(trace);
}

const char *mp_trace_property(const struct mp_trace *trace, const char *key)
{
    for (size_t i = 0; i < trace->property_count; i++)
        if (!strcmp(trace->properties[i].key, key))
            return trace->properties[i].value;
    return NULL;
}

bool mp_trace_property_at(const struct mp_trace *trace, size_t index, const char **key,
                          const char **value)
{
    if (index >= trace->property_count)
        return false;
    *key = trace->properties[index].key;
    *value = trace->properties[index].value;
    return true;
}

uint64_t mp_trace_bytes(const struct mp_trace *trace)
{
    return trace->bytes;
}

uint64_t mp_trace_data_bytes(const struct mp_trace *trace)
{
    return trace->data_bytes;
}

void mp_trace_index(const struct mp_trace *trace, struct mp_index *index)
{
    *index = trace->index;
}
