/* The reader on files whose checksums fit, whatever they say: a mutation unpacks one chunk, changes
 * its columns or the numbers of its header, and seals it again. */
#include "mutate.h"
#include "walk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    walk_bytes(data, size);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    return mutate_trace(data, size, max_size, seed);
}
