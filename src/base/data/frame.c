/* A zstd frame knows its length; what is none is a text that could not be packed. */
#include "base/data/frame.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/poison.h"

char *mp_frame_unpack(const unsigned char *frame, size_t bytes, size_t *length)
{
    unsigned long long size = ZSTD_getFrameContentSize(frame, bytes);
    bool packed = size != ZSTD_CONTENTSIZE_ERROR && size != ZSTD_CONTENTSIZE_UNKNOWN;
    char *content = malloc((packed ? (size_t)size : bytes) + 1);

    if (!content)
        return NULL;
    *length = packed ? ZSTD_decompress(content, (size_t)size, frame, bytes) : bytes;
    if (!packed)
        memcpy(content, frame, bytes);
    else if (ZSTD_isError(*length)) { /* for the decoder's own memory */
        free(content);
        return NULL;
    }
    content[*length] = '\0';
    return content;
}
