/* The system calls that a test can deny, by seccomp filters, which need no rights. See sandbox.h.
 */
#include "sandbox.h"

#include "common.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CALL(name)                                                                                 \
    {                                                                                              \
#name, SYS_##name                                                                          \
    }

/* What the recorder asks of the system: the first part by itself or through libc in an untroubled
 * run (strace lists it, and tests/sweeps/syscalls.py compares where strace is there), the second
 * for features or in trouble. */
static const struct {
    const char *name;
    long number;
} calls[] = {
    CALL(accept4),
    CALL(bind),
    CALL(brk),
    CALL(clock_gettime),
    CALL(clock_nanosleep),
    CALL(clone3),
    CALL(close),
    CALL(execve),
    CALL(faccessat),
    CALL(fchmod),
    CALL(fcntl),
    CALL(getpid),
    CALL(getppid),
    CALL(getrandom),
    CALL(getsockname),
    CALL(gettid),
    CALL(listen),
    CALL(madvise),
    CALL(mmap),
    CALL(mprotect),
    CALL(munmap),
    CALL(newfstatat),
    CALL(openat),
    CALL(prctl),
    CALL(pread64),
    CALL(prlimit64),
    CALL(read),
    CALL(rt_sigaction),
    CALL(rt_sigprocmask),
    CALL(rt_sigtimedwait),
    CALL(set_robust_list),
    CALL(sigaltstack),
    CALL(socket),
    CALL(uname),
    CALL(write),

    CALL(clone),
    CALL(dup),
    CALL(eventfd2),
    CALL(fallocate),
    CALL(fstat),
    CALL(ftruncate),
    CALL(getcwd),
    CALL(getdents64),
    CALL(geteuid),
    CALL(getsockopt),
    CALL(getuid),
    CALL(kill),
    CALL(linkat),
    CALL(lseek),
    CALL(membarrier),
    CALL(mkdirat),
    CALL(mremap),
    CALL(perf_event_open),
    CALL(ppoll),
    CALL(process_vm_readv),
    CALL(pwrite64),
    CALL(readlinkat),
    CALL(recvfrom),
    CALL(renameat2),
    CALL(sched_getaffinity),
    CALL(sched_yield),
    CALL(sendto),
    CALL(statx),
    CALL(sysinfo),
    CALL(tgkill),
    CALL(unlinkat),
    CALL(writev),
#ifdef SYS_open /* what 64-bit Arm does by the calls above alone */
    CALL(access),
    CALL(arch_prctl),
    CALL(chmod),
    CALL(lstat),
    CALL(mkdir),
    CALL(open),
    CALL(poll),
    CALL(readlink),
    CALL(stat),
    CALL(unlink),
#endif
};

static long number_of(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
        if (strlen(calls[i].name) == length && strncmp(calls[i].name, name, length) == 0)
            return calls[i].number;
    fail("no system call '%.*s' to deny", (int)length, name);
}

void deny_call(const char *value)
{
    size_t length = strcspn(value, ":");
    long call = number_of(value, length);
    unsigned error = value[length] ? (unsigned)strtoul(value + length + 1, NULL, 10) : EPERM;
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)call, 0, 1),
        BPF_STMT(BPF_RET, SECCOMP_RET_ERRNO | error),
        BPF_STMT(BPF_RET, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {.len = sizeof(rules) / sizeof(rules[0]), .filter = rules};

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter) != 0)
        fail("no seccomp: %s", strerror(errno));
}

void print_deniable(const char *unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
        puts(calls[i].name);
}
