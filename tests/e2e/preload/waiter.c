/* A library that is loaded late, and waits: a thread of its own signals a condition. */
#include <pthread.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int done;

static void *signal_late(void *argument)
{
    usleep(20000);
    pthread_mutex_lock(&mutex);
    done = 42;
    pthread_cond_signal(&condition);
    pthread_mutex_unlock(&mutex);
    return argument;
}

int waiter_wait(void);

int waiter_wait(void)
{
    pthread_t thread;

    if (pthread_create(&thread, 0, signal_late, 0) != 0)
        return -1;
    pthread_mutex_lock(&mutex);
    while (!done)
        pthread_cond_wait(&condition, &mutex);
    pthread_mutex_unlock(&mutex);
    pthread_join(thread, 0);
    return done;
}
