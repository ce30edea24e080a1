/* A range profiler object of CUPTI's for one context: set up, one range at a time, decoded. */
#include "record/counters/session.h"

#include <stdlib.h>
#include <string.h>

#include "base/poison.h"

static enum mp_status session_make_room(struct profiling_session *session, struct mp_error *error)
{
    const struct profiler_api *api = session->plan->api;
    struct profiler_counters_size size = {
        .size = PROFILER_SIZE(struct profiler_counters_size, bytes),
        .object = session->object,
        .names = session->plan->raw,
        .count = session->plan->raw_count,
        .ranges = 1,
        .nodes = 1,
    };
    struct profiler_counters room = {
        .size = PROFILER_SIZE(struct profiler_counters, counters),
        .object = session->object,
    };

    MP_TRY(profiler_check(api, api->counters_size(&size), "no room for counters", error));
    session->bytes = room.bytes = size.bytes;
    session->counters = room.counters = malloc(size.bytes + 1);
    session->blank = malloc(size.bytes + 1);
    if (!session->counters || !session->blank)
        return mp_error_set(error, MP_ERR_MEMORY, "no memory for the counters");
    MP_TRY(profiler_check(api, api->counters_open(&room), "no room for counters", error));
    memcpy(session->blank, session->counters, session->bytes);
    return MP_OK;
}

static enum mp_status configure(const struct profiling_session *session, struct mp_error *error)
{
    const struct profiler_api *api = session->plan->api;
    struct profiler_set_config config = {
        .size = PROFILER_SIZE(struct profiler_set_config, nesting),
        .object = session->object,
        .config_bytes = session->plan->config_bytes,
        .config = session->plan->config,
        .counters_bytes = session->bytes,
        .counters = session->counters,
        .range = PROFILER_AUTO_RANGE,
        .replay = PROFILER_KERNEL_REPLAY,
        .ranges = 1,
        .nesting_levels = 1,
        .min_nesting = 1,
        .nesting = 1,
    };

    return profiler_check(api, api->set_config(&config), "the counters cannot be set up", error);
}

static enum mp_status session_fill(struct profiling_session *session, struct mp_error *error)
{
    const struct profiler_api *api = session->plan->api;
    struct profiler_enable enable = {
        .size = PROFILER_SIZE(struct profiler_enable, object),
        .context = session->context,
    };

    MP_TRY(profiler_check(api, api->enable(&enable), "the counters cannot be had", error));
    session->object = enable.object;
    MP_TRY(session_make_room(session, error));
    return configure(session, error);
}

enum mp_status session_open(struct profiling_session **made, struct metric_plan *plan,
                            CUcontext context, struct mp_error *error)
{
    struct profiling_session *session = calloc(1, sizeof(*session));
    enum mp_status status = MP_OK;

    *made = NULL;
    if (!session)
        return mp_error_set(error, MP_ERR_MEMORY, "no memory for the counters");
    session->context = context;
    session->plan = plan;
    if (plan)
        status = session_fill(session, error);
    if (status == MP_OK)
        *made = session;
    else
        session_close(session);
    return status;
}

void session_close(struct profiling_session *session)
{
    struct profiler_object object = {
        .size = PROFILER_SIZE(struct profiler_object, object),
        .object = session->object,
    };

    if (session->object)
        session->plan->api->disable(&object);
    free(session->counters);
    free(session->blank);
    free(session);
}

enum mp_status session_start(const struct profiling_session *session, struct mp_error *error)
{
    const struct profiler_api *api = session->plan->api;
    struct profiler_object object = {
        .size = PROFILER_SIZE(struct profiler_object, object),
        .object = session->object,
    };

    memcpy(session->counters, session->blank, session->bytes);
    return profiler_check(api, api->start(&object), "the counters cannot be started", error);
}

enum mp_status session_stop(const struct profiling_session *session, struct mp_error *error)
{
    const struct profiler_api *api = session->plan->api;
    struct profiler_stop stop = {
        .size = PROFILER_SIZE(struct profiler_stop, complete),
        .object = session->object,
    };

    return profiler_check(api, api->stop(&stop), "the counters cannot be stopped", error);
}

enum mp_status session_read(const struct profiling_session *session, double *values, bool *found,
                            struct mp_error *error)
{
    const struct profiler_api *api = session->plan->api;
    const char *what = "the counters cannot be read";
    struct profiler_object decode = {
        .size = PROFILER_SIZE(struct profiler_object, dropped),
        .object = session->object,
    };
    struct profiler_counters_info info = {
        .size = PROFILER_SIZE(struct profiler_counters_info, ranges),
        .counters = session->counters,
        .bytes = session->bytes,
    };
    struct profiler_evaluate evaluate = {
        .size = PROFILER_SIZE(struct profiler_evaluate, values),
        .host = session->plan->host,
        .counters = session->counters,
        .bytes = session->bytes,
        .names = session->plan->raw,
        .count = session->plan->raw_count,
        .values = values,
    };

    *found = false;
    MP_TRY(profiler_check(api, api->decode(&decode), what, error));
    MP_TRY(profiler_check(api, api->counters_info(&info), what, error));
    if (!info.ranges)
        return MP_OK;
    MP_TRY(profiler_check(api, api->evaluate(&evaluate), what, error));
    *found = true;
    return MP_OK;
}
