/* A timer on a thread's CPU clock goes off at each tick of the kernel, some hundred times a second.
 * This one also goes off at any other moment: a thread sends the same signal again and again. */
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <dlfcn.h>

#define PAUSE_US 20
#define MAX      5000 /* to one thread: a busy machine would do little else for minutes */

struct target {
    pid_t thread;
    siginfo_t info;
};

static _Atomic unsigned long sent;

static long (*real_syscall(void))(long, ...)
{
    static long (*real)(long, ...);

    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "syscall");
    return real;
}

/* Until the thread has ended, or has got MOST. */
static void *send(void *argument)
{
    struct target *target = argument;
    int left = MAX;

    while (left-- > 0 && real_syscall()(SYS_rt_tgsigqueueinfo, getpid(), target->thread,
                                        target->info.si_signo, &target->info) == 0) {
        sent++;
        usleep(PAUSE_US);
    }
    free(target);
    return NULL;
}

static void send_to(const struct sigevent *event)
{
    struct target *target = calloc(1, sizeof *target);
    sigset_t all, before;
    pthread_t thread;

    if (!target)
        return;
    target->thread = event->_sigev_un._tid;
    target->info.si_signo = event->sigev_signo;
    target->info.si_code = SI_TIMER;
    target->info.si_value = event->sigev_value;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (pthread_create(&thread, NULL, send, target) == 0)
        pthread_detach(thread);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static __attribute__((destructor)) void say(void)
{
    if (sent)
        fprintf(stderr, "%lu signals\n", sent);
}

long syscall(long number, ...)
{
    long result;
    long with[6];
    va_list arguments;

    va_start(arguments, number);
    for (int i = 0; i < 6; i++)
        with[i] = va_arg(arguments, long);
    va_end(arguments);
    result = real_syscall()(number, with[0], with[1], with[2], with[3], with[4], with[5]);
    if (number == SYS_timer_create && result == 0)
        send_to((const struct sigevent *)with[1]);
    return result;
}
