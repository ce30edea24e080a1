/*
 * cupti_callback.c: the one subscriber and its callbacks.
 */
#include "cupti_profiler.h"

#include <stdio.h>
#include <string.h>

struct CUpti_Subscriber_st {
    CUpti_CallbackFunc callback;
    void *userdata;
    char name[CUPTI_SUBSCRIBER_NAME_MAX_LEN + 1];
    bool enabled[CUPTI_CB_DOMAIN_SIZE][CT_MAX_CBID];
};

static struct CUpti_Subscriber_st subscriber;
static bool subscribed;

/* The callback to make, or NULL. Copied under the lock, called without it. */
static CUpti_CallbackFunc find_callback(CUpti_CallbackDomain domain, uint32_t cbid, void **userdata)
{
    CUpti_CallbackFunc callback = NULL;

    pthread_mutex_lock(&ct_lock);
    if (subscribed && cbid < CT_MAX_CBID && subscriber.enabled[domain][cbid]) {
        callback = subscriber.callback;
        *userdata = subscriber.userdata;
    }
    pthread_mutex_unlock(&ct_lock);
    return callback;
}

static void call_back(CUpti_CallbackDomain domain, uint32_t cbid, const void *data)
{
    void *userdata;
    CUpti_CallbackFunc callback = find_callback(domain, cbid, &userdata);

    if (callback)
        callback(userdata, domain, cbid, data);
}

static void call_back_api(struct simgpu_api_call *call, CUpti_ApiCallbackSite site)
{
    CUpti_CallbackData data = {.callbackSite = site,
                               .functionName = call->name,
                               .functionParams = call->params,
                               .functionReturnValue = &call->result,
                               .symbolName = call->symbol,
                               .context = call->context,
                               .contextUid = call->context_uid,
                               .correlationData = &call->correlation_data,
                               .correlationId = call->correlation};

    call_back(CUPTI_CB_DOMAIN_DRIVER_API, call->cbid, &data);
}

static void on_api_enter(struct simgpu_api_call *call)
{
    ct_faultCall(call->cbid);
    call->traced = ct_isApiTraced(call->cbid);
    call_back_api(call, CUPTI_API_ENTER);
}

/* The record follows the EXIT callback: a client that flushes in it gets it the next time. */
static void on_api_exit(struct simgpu_api_call *call)
{
    call_back_api(call, CUPTI_API_EXIT);
    if (call->traced)
        ct_emitApi(call);
    ct_deliver();
}

static void on_resource(uint32_t cbid, CUcontext context, CUstream stream, void *descriptor)
{
    CUpti_ResourceData data = {.context = context, .resourceDescriptor = descriptor};

    ct_faultResource(cbid);
    data.resourceHandle.stream = stream;
    call_back(CUPTI_CB_DOMAIN_RESOURCE, cbid, &data);
}

static void on_synchronized(uint32_t cbid, CUcontext context, CUstream stream)
{
    CUpti_SynchronizeData data = {.context = context, .stream = stream};

    call_back(CUPTI_CB_DOMAIN_SYNCHRONIZE, cbid, &data);
}

const struct simgpu_hooks ct_hooks = {.api_enter = on_api_enter,
                                      .api_exit = on_api_exit,
                                      .activity = ct_onActivity,
                                      .resource = on_resource,
                                      .synchronized = on_synchronized,
                                      .profiled_passes = ct_profiledPasses};

void ct_callbackReset(void)
{
    pthread_mutex_lock(&ct_lock);
    subscribed = false;
    memset(&subscriber, 0, sizeof(subscriber));
    pthread_mutex_unlock(&ct_lock);
}

static CUptiResult subscribe(CUpti_SubscriberHandle *handle, CUpti_CallbackFunc callback,
                             void *userdata, const CUpti_SubscriberParams *params)
{
    long refused = env_number("SIMGPU_CUPTI_SUBSCRIBE_ERROR", 0);
    const char *other = ct_versionTwo();
    CUptiResult result = CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;

    if (!handle)
        return CUPTI_ERROR_INVALID_PARAMETER;
    if (refused)
        return (CUptiResult)refused;
    if (other) {
        if (params && params->oldSubscriberName && params->oldSubscriberSize)
            snprintf(params->oldSubscriberName, params->oldSubscriberSize, "CUPTI for %s", other);
        return result;
    }
    if (!subscribed) /* so does CUPTI 13.0 (seen on an H200) */
        simgpu_wait_for_work();
    pthread_mutex_lock(&ct_lock);
    if (!subscribed) {
        memset(&subscriber, 0, sizeof(subscriber));
        subscribed = true;
        subscriber.callback = callback;
        subscriber.userdata = userdata;
        if (params && params->subscriberName)
            snprintf(subscriber.name, sizeof(subscriber.name), "%s", params->subscriberName);
        *handle = &subscriber;
        result = CUPTI_SUCCESS;
    } else if (params && params->oldSubscriberName && params->oldSubscriberSize) {
        snprintf(params->oldSubscriberName, params->oldSubscriberSize, "CUPTI for %s",
                 subscriber.name);
    }
    pthread_mutex_unlock(&ct_lock);
    if (result == CUPTI_SUCCESS)
        ct_attach();
    return result;
}

CUptiResult CUPTIAPI cuptiSubscribe(CUpti_SubscriberHandle *handle, CUpti_CallbackFunc callback,
                                    void *userdata)
{
    return subscribe(handle, callback, userdata, NULL);
}

CUptiResult CUPTIAPI cuptiSubscribe_v2(CUpti_SubscriberHandle *handle, CUpti_CallbackFunc callback,
                                       void *userdata, CUpti_SubscriberParams *pParams)
{
    return ct_version() < 130000 ? CUPTI_ERROR_NOT_SUPPORTED
                                 : subscribe(handle, callback, userdata, pParams);
}

static bool is_subscriber(CUpti_SubscriberHandle handle)
{
    return subscribed && handle == &subscriber;
}

CUptiResult CUPTIAPI cuptiUnsubscribe(CUpti_SubscriberHandle handle)
{
    if (!is_subscriber(handle))
        return CUPTI_ERROR_INVALID_PARAMETER;
    ct_callbackReset();
    return CUPTI_SUCCESS;
}

static uint32_t domain_size(CUpti_CallbackDomain domain)
{
    static const uint32_t sizes[CUPTI_CB_DOMAIN_SIZE] = {
        [CUPTI_CB_DOMAIN_DRIVER_API] = CUPTI_DRIVER_TRACE_CBID_SIZE,
        [CUPTI_CB_DOMAIN_RUNTIME_API] = CUPTI_RUNTIME_TRACE_CBID_SIZE,
        [CUPTI_CB_DOMAIN_RESOURCE] = CUPTI_CBID_RESOURCE_SIZE,
        [CUPTI_CB_DOMAIN_SYNCHRONIZE] = CUPTI_CBID_SYNCHRONIZE_SIZE,
        [CUPTI_CB_DOMAIN_NVTX] = CUPTI_CBID_NVTX_SIZE,
#ifndef SIMGPU_LACKS_CUPTI_CB_DOMAIN_STATE
        [CUPTI_CB_DOMAIN_STATE] = CUPTI_CBID_STATE_SIZE,
#endif
    };

    return (unsigned)domain < CUPTI_CB_DOMAIN_SIZE ? sizes[domain] : 0;
}

CUptiResult CUPTIAPI cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle handle,
                                         CUpti_CallbackDomain domain, CUpti_CallbackId cbid)
{
    if (!is_subscriber(handle) || cbid == 0 || cbid >= domain_size(domain))
        return CUPTI_ERROR_INVALID_PARAMETER;
    pthread_mutex_lock(&ct_lock);
    subscriber.enabled[domain][cbid] = enable != 0;
    pthread_mutex_unlock(&ct_lock);
    return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiEnableDomain(uint32_t enable, CUpti_SubscriberHandle handle,
                                       CUpti_CallbackDomain domain)
{
    if (!is_subscriber(handle) || !domain_size(domain))
        return CUPTI_ERROR_INVALID_PARAMETER;
    pthread_mutex_lock(&ct_lock);
    memset(subscriber.enabled[domain], enable != 0, sizeof(subscriber.enabled[domain]));
    pthread_mutex_unlock(&ct_lock);
    return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiEnableAllDomains(uint32_t enable, CUpti_SubscriberHandle handle)
{
    if (!is_subscriber(handle))
        return CUPTI_ERROR_INVALID_PARAMETER;
    pthread_mutex_lock(&ct_lock);
    memset(subscriber.enabled, enable != 0, sizeof(subscriber.enabled));
    pthread_mutex_unlock(&ct_lock);
    return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiGetCallbackState(uint32_t *enable, CUpti_SubscriberHandle handle,
                                           CUpti_CallbackDomain domain, CUpti_CallbackId cbid)
{
    if (!enable || !is_subscriber(handle) || cbid >= domain_size(domain))
        return CUPTI_ERROR_INVALID_PARAMETER;
    *enable = subscriber.enabled[domain][cbid];
    return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiSupportedDomains(size_t *domainCount, CUpti_DomainTable *domainTable)
{
    static CUpti_CallbackDomain domains[] = {
        CUPTI_CB_DOMAIN_DRIVER_API,  CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_CB_DOMAIN_RESOURCE,
        CUPTI_CB_DOMAIN_SYNCHRONIZE, CUPTI_CB_DOMAIN_NVTX,
#ifndef SIMGPU_LACKS_CUPTI_CB_DOMAIN_STATE
        CUPTI_CB_DOMAIN_STATE,
#endif
    };

    if (!domainCount || !domainTable)
        return CUPTI_ERROR_INVALID_PARAMETER;
    *domainCount = CT_COUNT(domains);
    *domainTable = domains;
    return CUPTI_SUCCESS;
}
