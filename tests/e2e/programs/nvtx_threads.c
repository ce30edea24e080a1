/* nvtx_threads.c: threads that share nothing but CUDA and NVTX, for a sanitizer that looks for
 * races. Chains run at once; each thread of a chain starts the next one. What the recorder has of a
 * thread that has ended goes to a thread of another chain. Nobody joins a thread before all have
 * ended: glibc would free its memory, which the sanitizer does not understand.
 */
#include "common.h"

#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>

enum { CHAINS = 4, LINKS = 20, CALLS = 1000 };

static const char ptx[] = ".version 6.0\n"
                          ".target sm_50\n"
                          ".address_size 64\n"
                          ".visible .entry alpha()\n{\n    ret;\n}\n";

static CUcontext context;
static CUfunction kernel;
static nvtxDomainHandle_t domain;
static nvtxStringHandle_t registered;
static sem_t ended;

struct chain {
    const char *name;
    int links;
    pthread_t threads[LINKS];
};

static void start_thread(struct chain *chain);

static void push_registered(void)
{
    const nvtxEventAttributes_t event = {.version = NVTX_VERSION,
                                         .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                                         .messageType = NVTX_MESSAGE_TYPE_REGISTERED,
                                         .message.registered = registered};

    nvtxDomainRangePushEx(domain, &event);
}

static void *work(void *context_of_chain)
{
    struct chain *chain = context_of_chain;

    CU_CHECK(cuCtxSetCurrent(context));
    for (int i = 0; i < CALLS; i++) {
        nvtxRangePushA(chain->name);
        nvtxRangePushA("a range whose name is long, so that memory is soon used again");
        push_registered();
        nvtxDomainRangePop(domain);
        nvtxRangePop();
        nvtxRangePop();
    }
    nvtxDomainRegisterStringA(domain, chain->name);
    CU_CHECK(cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
    if (chain->links < LINKS)
        start_thread(chain);
    else
        sem_post(&ended);
    return NULL;
}

static void start_thread(struct chain *chain)
{
    int link = chain->links++;

    if (pthread_create(&chain->threads[link], NULL, work, chain) != 0)
        fail("cannot create a thread");
}

static void set_up(void)
{
    CUmodule module;

    CU_CHECK(cuInit(0));
    CU_CHECK(cuDevicePrimaryCtxRetain(&context, 0));
    CU_CHECK(cuCtxSetCurrent(context));
    CU_CHECK(cuModuleLoadData(&module, ptx));
    CU_CHECK(cuModuleGetFunction(&kernel, module, "alpha"));
    /* Before the threads: NVTX's header sets its functions up without a lock. */
    domain = nvtxDomainCreateA("domain");
    registered = nvtxDomainRegisterStringA(domain, "registered");
    nvtxRangePushA("main");
    push_registered();
    nvtxDomainRangePop(domain);
    nvtxRangePop();
}

int main(void)
{
    static struct chain chains[CHAINS] = {
        {.name = "one"}, {.name = "two"}, {.name = "three"}, {.name = "four"}};

    set_up();
    sem_init(&ended, 0, 0);
    for (int i = 0; i < CHAINS; i++)
        start_thread(&chains[i]);
    for (int i = 0; i < CHAINS; i++)
        while (sem_wait(&ended) != 0)
            continue;
    for (int i = 0; i < CHAINS; i++)
        for (int link = 0; link < LINKS; link++)
            pthread_join(chains[i].threads[link], NULL);
    CU_CHECK(cuCtxSynchronize());
    puts("done");
    return 0;
}
