/* The reader on any file: header, index, finding of chunks, words. Checksums keep what is mutated
 * here from the decoder; fuzz_chunk.c and fuzz_decode.c go there. */
#include "walk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    walk_bytes(data, size);
    return 0;
}
