/*
 * init.c: cuInit, the loading of the injection library, and what a forked child may not do.
 */
#include "simgpu.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum init_state { INIT_NONE, INIT_RUNNING, INIT_READY, INIT_FAILED };

static _Atomic enum init_state init_state;
static CUresult init_error;
static pthread_t init_thread;
static pthread_cond_t init_done = PTHREAD_COND_INITIALIZER;
static _Atomic bool forked;

bool sg_isInitialized(void)
{
    return atomic_load(&init_state) == INIT_READY;
}

bool simgpu_is_initialized(void)
{
    return sg_isInitialized();
}

bool sg_isForked(void)
{
    return atomic_load(&forked);
}

/* As with the real driver, CUDA is unusable in the child of a process that initialised it. */
static void after_fork(void)
{
    if (atomic_load(&init_state) == INIT_NONE)
        return;
    atomic_store(&forked, true);
    /* Another thread may have held a lock, ours or libcupti's. */
    pthread_mutex_init(&sg_lock, NULL);
    simgpu_hooks = NULL;
}

/* Failures are ignored: a missing tool must not keep the application from running. */
static void load_injection(void)
{
    const char *path = getenv("CUDA_INJECTION64_PATH");
    int (*initialize)(void);
    void *library;
    void *symbol;

    if (!path || !*path || strcmp(path, "none") == 0)
        return;
    library = dlopen(path, RTLD_NOW);
    symbol = library ? dlsym(library, "InitializeInjection") : NULL;
    if (!symbol)
        return;
    memcpy(&initialize, &symbol, sizeof(initialize));
    initialize();
}

static CUresult run_init(void)
{
    atomic_store(&init_state, INIT_RUNNING);
    init_thread = pthread_self();
    pthread_atfork(NULL, NULL, after_fork);
    pthread_mutex_unlock(&sg_lock);
    load_injection();
    pthread_mutex_lock(&sg_lock);
    init_error = (CUresult)env_number("SIMGPU_CUINIT_ERROR", 0);
    atomic_store(&init_state, init_error ? INIT_FAILED : INIT_READY);
    pthread_cond_broadcast(&init_done);
    if (init_error)
        return init_error;
    for (int i = 0; i < sg_deviceCount(); i++)
        sg_deviceEmit(i);
    sg_resource(CUPTI_CBID_RESOURCE_CU_INIT_FINISHED, NULL, NULL, NULL);
    return CUDA_SUCCESS;
}

SG_FUNCTION(cuInit, (unsigned int Flags), Flags)
{
    if (sg_isForked())
        return CUDA_ERROR_NOT_INITIALIZED;
    if (Flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (atomic_load(&init_state) == INIT_NONE)
        return run_init();
    while (atomic_load(&init_state) == INIT_RUNNING) {
        if (pthread_equal(init_thread, pthread_self()))
            return CUDA_SUCCESS; /* the injection library called us back */
        pthread_cond_wait(&init_done, &sg_lock);
    }
    return atomic_load(&init_state) == INIT_FAILED ? init_error : CUDA_SUCCESS;
}

SG_FUNCTION(cuDriverGetVersion, (int *driverVersion), driverVersion)
{
    if (!driverVersion)
        return CUDA_ERROR_INVALID_VALUE;
    *driverVersion = CUDA_VERSION;
    return CUDA_SUCCESS;
}

SG_FUNCTION0(cuProfilerStart)
{
    sg_joinHorizon();
    return CUDA_SUCCESS;
}

SG_FUNCTION0(cuProfilerStop)
{
    sg_joinHorizon();
    return CUDA_SUCCESS;
}
