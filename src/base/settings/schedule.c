/* Reads MINIPROF_SCHEDULE and says which phase a step is in. The phases and their order are those
 * of torch.profiler.schedule, so that its users need not learn new ones.
 */
#include "base/settings/schedule.h"

#include <stddef.h>
#include <string.h>

#include "base/text/strings.h"

#include "base/poison.h"

#define MAX_STEPS 1000000000u /* three of them still fit in 32 bits */

static const struct part {
    const char *name;
    size_t offset;
} parts[] = {
    {"skip=", offsetof(struct mp_schedule, skip)},
    {"wait=", offsetof(struct mp_schedule, wait)},
    {"warmup=", offsetof(struct mp_schedule, warmup)},
    {"active=", offsetof(struct mp_schedule, active)},
    {"repeat=", offsetof(struct mp_schedule, repeat)},
};

#define PART_COUNT (sizeof(parts) / sizeof(parts[0]))

/* `seen`: a bit for each part that was there already. */
static bool parse_part(struct mp_schedule *schedule, unsigned *seen, const char *item)
{
    size_t i;

    for (i = 0; i < PART_COUNT; i++) {
        const struct part *part = &parts[i];
        uint64_t number;

        if (!mp_text_starts_with(item, part->name))
            continue;
        if ((*seen & 1u << i) || !mp_text_to_u64(item + strlen(part->name), 0, MAX_STEPS, &number))
            return false;
        *seen |= 1u << i;
        *(uint32_t *)(void *)((char *)schedule + part->offset) = (uint32_t)number;
        return true;
    }
    return false;
}

bool mp_schedule_parse(const char *text, struct mp_schedule *schedule)
{
    unsigned seen = 0;
    const char *item;
    size_t bytes;

    *schedule = (struct mp_schedule){.skip = 0};
    while (mp_text_next_item(&text, &item, &bytes)) {
        char copy[32];

        if (bytes >= sizeof(copy))
            return false;
        memcpy(copy, item, bytes);
        copy[bytes] = '\0';
        if (!parse_part(schedule, &seen, copy))
            return false;
    }
    return schedule->active > 0;
}

bool mp_schedule_check(const char *text)
{
    struct mp_schedule schedule;

    return mp_schedule_parse(text, &schedule);
}

enum mp_step_phase mp_schedule_phase(const struct mp_schedule *schedule, uint64_t step)
{
    uint64_t cycle = (uint64_t)schedule->wait + schedule->warmup + schedule->active;
    uint64_t place;

    if (step < schedule->skip)
        return MP_STEP_IDLE;
    step -= schedule->skip;
    if (schedule->repeat && step / cycle >= schedule->repeat)
        return MP_STEP_OVER;
    place = step % cycle;
    if (place < schedule->wait)
        return MP_STEP_IDLE;
    if (place < (uint64_t)schedule->wait + schedule->warmup)
        return MP_STEP_WARMUP;
    return place + 1 < cycle ? MP_STEP_ACTIVE : MP_STEP_LAST;
}
