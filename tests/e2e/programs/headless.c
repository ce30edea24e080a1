/* A program whose main thread ends before another: /proc shows the process as a zombie, though it
 * lives until a file named headless1 is there. tests/e2e/top.sh looks at it. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static void *work(void *unused)
{
    while (access("headless1", F_OK))
        usleep(10000);
    exit(0);
    return unused;
}

int main(void)
{
    void *cuda = dlopen("libcuda.so.1", RTLD_NOW);
    int (*init)(unsigned) = cuda ? (int (*)(unsigned))dlsym(cuda, "cuInit") : NULL;
    pthread_t thread;

    if (!init || init(0) || pthread_create(&thread, NULL, work, NULL))
        return 1;
    pthread_exit(NULL);
}
