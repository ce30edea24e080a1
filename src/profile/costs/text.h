/* The text of a file of costs, block by block.
 *
 *     gpu=NVIDIA H200
 *     driver=13000
 *     cupti=26
 *     launch_in=412.5
 *     ...
 *                                    an empty line between two blocks
 *
 * A trace keeps it in one line of its header, so `;` ends a line as well as a line break does.
 */
#ifndef MP_PROFILE_COSTS_TEXT_H
#define MP_PROFILE_COSTS_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "profile/costs/costs.h"

struct costs_piece {
    const char *begin;
    size_t bytes;
};

/* The next block, without empty lines; false at the end. Start with *cursor at the text. */
bool costs_next_block(const char **cursor, struct costs_piece *block);

/* Whether the block has a key, and in all three parts. */
bool costs_block_has_key(const struct costs_piece *block);

/* Whether the block is that of `key`. */
bool costs_block_is_of(const struct costs_piece *block, const struct costs_key *key);

/* Reads the costs of a block; those that it lacks keep their values. False, and `costs` unchanged,
 * if a line is not NAME=NUMBER, or a number is not from 0 to COSTS_GREATEST. A name that is not
 * known here is passed over. */
bool costs_block_read(const struct costs_piece *block, struct costs *costs);

#define COSTS_GREATEST 1e7 /* ns */

#endif
