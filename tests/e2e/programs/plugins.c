/* Launches while modules come and go. tests/e2e/native_stacks.sh has the stacks.
 *
 *   plugins turns ONE TWO   plugins call by turns, each loaded where the other one was; the last
 *                           line says whether that is so
 *   plugins waits PLUGIN    another thread is inside of dlopen, in a constructor that waits until
 *                           this one has made 2,000 calls
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cuda.h>

static CUdeviceptr memory;

static void check(CUresult status)
{
    if (status)
        exit((int)status);
}

static void call(void)
{
    check(cuMemsetD8(memory, 1, 64));
    __asm__ volatile("");
}

static int take_turns(char *const names[])
{
    uintptr_t places[2] = {0};

    for (int i = 0; i < 6; i++) {
        void *plugin = dlopen(names[i % 2], RTLD_NOW);
        void (*run)(void (*)(void));

        if (!plugin)
            return 1;
        *(void **)&run = dlsym(plugin, "run");
        places[i % 2] = (uintptr_t)run;
        run(call);
        dlclose(plugin);
    }
    puts(places[0] == places[1] ? "same place" : "other places");
    return 0;
}

static void *load(void *name)
{
    return dlopen(name, RTLD_NOW);
}

static int while_one_waits(char *name)
{
    int ends[2];
    char byte = 'g';
    pthread_t thread;
    void *plugin;

    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) || dup2(ends[1], 9) != 9 ||
        pthread_create(&thread, NULL, load, name) || read(ends[0], &byte, 1) != 1)
        return 1;
    for (int i = 0; i < 2000; i++)
        call();
    if (write(ends[0], &byte, 1) != 1 || pthread_join(thread, &plugin) || !plugin)
        return 1;
    puts("done");
    return 0;
}

int main(int count, char **arguments)
{
    CUcontext context;

    check(cuInit(0));
    check(cuDevicePrimaryCtxRetain(&context, 0));
    check(cuCtxSetCurrent(context));
    check(cuMemAlloc(&memory, 64));
    if (count == 4 && !strcmp(arguments[1], "turns"))
        return take_turns(arguments + 2);
    return count == 3 ? while_one_waits(arguments[2]) : 2;
}
