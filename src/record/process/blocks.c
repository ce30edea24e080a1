/* When a block of steps is long enough: by its own length, and by the share of all steps. */
#include "record/process/blocks.h"

#include "base/settings/time_limits.h"

#include "base/poison.h"

enum block_way blocks_choose(const uint64_t counts[BLOCK_WAYS], const bool alive[BLOCK_WAYS],
                             uint64_t passed)
{
    unsigned way;

    for (way = 0; way < BLOCK_WAYS && passed >= mp_time_limit_ns(MP_TIME_BLOCK); way++) {
        if (counts[way] >= BLOCK_CHOICE_STEPS)
            return (enum block_way)way;
        if (alive[way] && passed < mp_time_limit_ns(MP_TIME_BLOCK_CHOICE))
            break;
    }
    return BLOCK_WAYS;
}

void blocks_begin(struct blocks *blocks, bool bare, uint64_t now)
{
    blocks->bare = bare;
    blocks->since = now;
    blocks->steps = 0;
}

/* Whether, of `more` further steps that are not recorded, all belong to the share. */
static bool fits(const struct blocks *blocks, uint64_t more)
{
    return 100 * (blocks->without + more) <= blocks->share * (blocks->all + more);
}

bool blocks_step(struct blocks *blocks, uint64_t now)
{
    blocks->all++;
    blocks->without += blocks->bare;
    blocks->steps++;
    if (blocks->steps < BLOCK_STEPS || now < blocks->since + mp_time_limit_ns(MP_TIME_BLOCK))
        return false;
    return blocks->bare ? !fits(blocks, 1) : fits(blocks, BLOCK_STEPS);
}
