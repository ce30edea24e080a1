/* The rule of three for times and counts, without overflow on the way. */
#ifndef MP_BASE_DATA_PROPORTION_H
#define MP_BASE_DATA_PROPORTION_H

#include <stdint.h>

/* value * part / whole, rounded down; 0 if `whole` is 0. The result must fit in 64 bits. */
static inline uint64_t mp_proportion(uint64_t value, uint64_t part, uint64_t whole)
{
    __extension__ typedef unsigned __int128 wide;

    return whole ? (uint64_t)((wide)value * part / whole) : 0;
}

#endif
