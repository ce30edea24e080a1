/* The bytes of a trace file (.mpt): constants and fixed-size structures, no functions.
 *
 * docs/trace-format.md is the specification; this header is the part that the C code shares. All
 * integers are little endian. A file is one valid zstd stream: everything that is not a zstd frame
 * is in a skippable frame (RFC 8878, section 3.1.2). So `zstd -t FILE` passes.
 *
 *     [skippable: header] ([skippable: chunk header] [zstd frame: columns])* [skippable: index]
 */
#ifndef MINIPROF_FORMAT_H
#define MINIPROF_FORMAT_H

#include <assert.h>
#include <stdint.h>

#define MP_FORMAT_VERSION 1 /* readers refuse a greater one */

/* RFC 8878 reserves 0x184D2A50 to 0x184D2A5F for skippable frames; 5E is zstd's seekable format. */
#define MP_SKIPPABLE_MAGIC 0x184D2A5Du

#define MP_HEADER_MAGIC "MPTRACE" /* with its NUL: 8 bytes */
#define MP_CHUNK_MAGIC  "MPCHUNK"
#define MP_INDEX_MAGIC  "MPINDEX"

/* These limits bound what a reader allocates for a file, however the file was damaged. */
#define MP_MAX_HEADER_BYTES       (1u << 20) /* text of the header */
#define MP_MAX_CHUNK_ROWS         (1u << 16) /* rows of one chunk */
#define MP_MAX_CHUNK_RAW_BYTES    (8u << 20) /* columns of one chunk, decompressed */
#define MP_MAX_CHUNK_PACKED_BYTES (9u << 20) /* the same, compressed */
#define MP_MAX_COLUMNS            32         /* columns of one table */
#define MP_MAX_TEXT_BYTES         65535      /* of one text; longer ones are cut */

/* What a chunk may expand to, in bytes. Its weight is MP_ROW_WEIGHT for each row, plus its
 * decompressed columns (docs/trace-format.md, section 4). */
#define MP_ROW_WEIGHT          64
#define MP_MAX_WEIGHT_PER_BYTE 1024 /* of the chunk in the file, header included */
#define MP_MAX_EXCESS                                                                              \
    (32u << 20) /* weight beyond that which all chunks of a file may have together */

/* Features that a reader must know to read a file correctly. A file with unknown bits is refused.
 */
#define MP_FEATURES_KNOWN 0u

struct mp_file_header {
    uint32_t skippable_magic;
    uint32_t skippable_bytes; /* of all that follows this field: 24 + text_bytes + 8 */
    char magic[8];            /* MP_HEADER_MAGIC */
    uint32_t version;         /* MP_FORMAT_VERSION of the writer */
    uint32_t features;        /* bits that a reader must know */
    uint32_t text_bytes;      /* of the "key=value\n" lines that follow */
    uint32_t reserved;        /* 0 */
    /* char text[text_bytes]; uint64_t xxh64 of everything from `magic` to the end of the text */
};
static_assert(sizeof(struct mp_file_header) == 32, "fixed on disk");

struct mp_chunk_header {
    uint32_t skippable_magic;
    uint32_t skippable_bytes; /* sizeof(struct mp_chunk_header) - 8 */
    char magic[8];            /* MP_CHUNK_MAGIC */
    uint32_t sequence;        /* number of the chunk in the file, from 0 */
    uint16_t table;           /* id in tables.def */
    uint16_t reserved;        /* 0 */
    uint32_t rows;            /* at most MP_MAX_CHUNK_ROWS */
    uint32_t raw_bytes;       /* of the columns, decompressed */
    uint32_t packed_bytes;    /* of the zstd frame that follows */
    uint32_t reserved2;       /* 0 */
    uint64_t first_time;      /* smallest time in the chunk that is not 0, ns; 0 without times */
    uint64_t last_time;       /* largest time, ends included */
    uint64_t dropped;  /* records lost for good when the chunk was written, since the start */
    uint64_t checksum; /* xxh64 of `magic` to `dropped` */
};
static_assert(sizeof(struct mp_chunk_header) == 72, "fixed on disk");

/* One entry of the index for each chunk, in file order. */
struct mp_index_entry {
    uint64_t offset; /* of the chunk header's skippable magic */
    uint32_t rows;
    uint32_t packed_bytes;
    uint16_t table;
    uint16_t reserved;
    uint32_t raw_bytes;
    uint64_t first_time;
    uint64_t last_time;
};
static_assert(sizeof(struct mp_index_entry) == 40, "fixed on disk");

/* The index frame ends the file. `index_bytes` comes last, so that a reader finds the frame from
 * the end of the file. */
struct mp_index_header {
    uint32_t skippable_magic;
    uint32_t skippable_bytes; /* of all that follows this field */
    char magic[8];            /* MP_INDEX_MAGIC */
    uint32_t entries;
    uint32_t reserved; /* 0 */
    uint64_t dropped;  /* records lost in all */
    /* struct mp_index_entry entry[entries];
     * uint64_t checksum: xxh64 of `magic` to the end of the entries
     * uint64_t index_bytes: of the whole frame, the two fields of the skippable frame included */
};
static_assert(sizeof(struct mp_index_header) == 32, "fixed on disk");

/* Layouts of a stream of numbers inside a column (docs/trace-format.md, section 5). */
enum mp_layout {
    MP_LAYOUT_CONSTANT = 0, /* one LEB128 value for all rows */
    MP_LAYOUT_BYTES = 1,    /* a LEB128 value for each row */
    MP_LAYOUT_BITS = 2,     /* a token byte for each row, then the extra bits of all */
    MP_LAYOUT_CRUMBS = 3    /* two bits a row, for values that are nearly always below 3 */
};

/* How a value is predicted from what was decoded before (docs/trace-format.md, section 6). */
enum mp_predict {
    MP_PREDICT_BASE_LAST = 1,     /* add the lane's last value */
    MP_PREDICT_CONTEXT_LAST = 2,  /* add the context's last residual */
    MP_PREDICT_CONTEXT_MEAN = 4,  /* add the context's running mean */
    MP_PREDICT_CONTEXT_SELF = 8,  /* the lane's last value is part of the context */
    MP_PREDICT_CONTEXT_PREV = 16, /* the previous row's keys in the lane are part of the context */
    MP_PREDICT_ALL = 31           /* all bits that have a meaning */
};

/* What a column's bytes mean. */
enum mp_codec_kind {
    MP_CODEC_NUMBER = 1, /* one stream, predicted as `predict` says */
    MP_CODEC_START = 2,  /* the begin of an interval or a point in time */
    MP_CODEC_SPAN = 3,   /* the duration that belongs to the START column above it */
    MP_CODEC_TEXT = 4    /* a stream of lengths, then the bytes */
};

/* An edge leads from where its first node ends. If that node has a graph inside, of a child graph
 * or a body, this bit of its id stands for the end of that graph; the id alone is where it begins.
 */
#define MP_EDGE_END UINT64_C(0x80000000)

#define MP_CONTEXT_BITS 12 /* contexts of one column: 4096 */
#define MP_LANE_BITS    10 /* lanes of one column: 1024 */

#endif
