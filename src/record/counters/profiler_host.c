/* CUPTI's host objects: opened for a chip, given names, turned into a configuration image. */
#include "record/counters/profiler_host.h"

#include <stdlib.h>

#include "base/poison.h"

CUptiResult profiler_host_open(const struct profiler_chip_info *chip, void **host)
{
    struct profiler_host_open open = {
        .size = PROFILER_SIZE(struct profiler_host_open, host),
        .type = chip->type,
        .chip = chip->name,
        .availability = chip->availability,
    };
    CUptiResult result = chip->api->host_open(&open);

    *host = result == CUPTI_SUCCESS ? open.host : NULL;
    return result;
}

void profiler_host_close(const struct profiler_api *api, void **host)
{
    struct profiler_host_close close = {
        .size = PROFILER_SIZE(struct profiler_host_close, host),
        .host = *host,
    };

    if (*host)
        api->host_close(&close);
    *host = NULL;
}

CUptiResult profiler_host_add(const struct profiler_api *api, void **host, const char **names,
                              size_t count)
{
    struct profiler_add add = {
        .size = PROFILER_SIZE(struct profiler_add, count),
        .host = *host,
        .names = names,
        .count = count,
    };
    CUptiResult result = api->add(&add);

    if (result != CUPTI_SUCCESS)
        *host = NULL;
    return result;
}

bool profiler_host_look_up(const struct profiler_api *api, void *host, const char *name,
                           struct profiler_properties *about)
{
    *about = (struct profiler_properties){
        .size = PROFILER_SIZE(struct profiler_properties, type),
        .host = host,
        .name = name,
    };
    return host && api->properties(about) == CUPTI_SUCCESS;
}

enum mp_status profiler_host_config(const struct profiler_api *api, void *host, uint8_t **config,
                                    size_t *bytes, size_t *passes, struct mp_error *error)
{
    struct profiler_config_size size = {.size = PROFILER_SIZE(struct profiler_config_size, bytes),
                                        .host = host};
    struct profiler_config image = {.size = PROFILER_SIZE(struct profiler_config, image),
                                    .host = host};
    struct profiler_passes count = {.size = PROFILER_SIZE(struct profiler_passes, passes)};
    const char *what = "CUPTI cannot count these metrics";

    MP_TRY(profiler_check(api, api->config_size(&size), what, error));
    *config = malloc(size.bytes + 1);
    if (!*config)
        return mp_error_set(error, MP_ERR_MEMORY, "no memory for the metrics");
    *bytes = image.bytes = count.bytes = size.bytes;
    image.image = count.image = *config;
    MP_TRY(profiler_check(api, api->config(&image), what, error));
    MP_TRY(profiler_check(api, api->passes(&count), what, error));
    *passes = count.passes;
    return MP_OK;
}
