/* Reads nvprof's --devices. Each ordinal becomes a bit of a 64-bit word, so ordinals stay below 64.
 */
#include "base/settings/device_list.h"

#include "base/text/strings.h"

#include "base/poison.h"

static enum mp_status add_device(struct device_list *list, const char *item, size_t bytes,
                                 struct mp_error *error)
{
    char text[8];
    uint64_t device;

    if (bytes < sizeof(text)) {
        mp_text_copy(text, bytes + 1, item);
        if (mp_text_to_u64(text, 0, DEVICE_LIST_MAX - 1, &device)) {
            list->chosen |= (uint64_t)1 << device;
            return MP_OK;
        }
    }
    return mp_error_set(error, MP_ERR_ARGUMENT,
                        "'%.*s' is no device: give 'all' or ordinals from 0 to %d, as in 0,2",
                        bytes < 40 ? (int)bytes : 40, item, DEVICE_LIST_MAX - 1);
}

enum mp_status device_list_parse(const char *text, struct device_list *list, struct mp_error *error)
{
    struct device_list chosen = {.chosen = 0};
    const char *item;
    size_t bytes;

    if (!text || !*text || mp_text_equal(text, "all")) {
        list->chosen = UINT64_MAX;
        return MP_OK;
    }
    while (mp_text_next_item(&text, &item, &bytes))
        MP_TRY(add_device(&chosen, item, bytes, error));
    *list = chosen;
    return MP_OK;
}

bool device_list_has(const struct device_list *list, uint64_t device)
{
    return device < DEVICE_LIST_MAX && (list->chosen >> device & 1);
}
