/* Waits by system calls that the program makes itself: syscall(2), above all futex. */
#include <errno.h>
#include <linux/futex.h>

#include "preload/waits.h"

#include "base/poison.h"

/* ---- futex ----
 *
 * Futexes by libc's function `syscall`: abseil, libstdc++'s atomics and Rust wait so.
 */

/* syscall(SYS_futex, ...). */
long preload_futex(long number, long word, long operation, long value, long time, long other,
                   long value3);

/* Finds the real function syscall, for the first call of another number. */
void *preload_find_syscall(void);

#define LOCK_PI2 13 /* FUTEX_LOCK_PI2, since Linux 5.14 */

typedef long system_call(long number, long word, long operation, long value, long time, long other,
                         long value3);

void *preload_find_syscall(void)
{
    return next_function(NEXT_syscall);
}

static bool waits(long command)
{
    return command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET || command == FUTEX_LOCK_PI ||
           command == LOCK_PI2 || command == FUTEX_WAIT_REQUEUE_PI;
}

/* FUTEX_WAKE_OP wakes those who wait for either word. */
static void wake(long command, long word, long other)
{
    objects_wake((uint64_t)word);
    if (command == FUTEX_WAKE_OP)
        objects_wake((uint64_t)other);
}

long preload_futex(long number, long word, long operation, long value, long time, long other,
                   long value3)
{
    system_call *real = (system_call *)next_function(NEXT_syscall);
    long command = operation & FUTEX_CMD_MASK;
    uint64_t begin, end;

    if (!waits_asked())
        return real(number, word, operation, value, time, other, value3);
    if (!waits(command)) {
        wake(command, word, other);
        return real(number, word, operation, value, time, other, value3);
    }
    if (waits_left_alone(CALLER))
        return real(number, word, operation, value, time, other, value3);
    struct moments_mark mark = moments_mark();
    struct waited_object *place = objects_enter((uint64_t)word);
    long result = real(number, word, operation, value, time, other, value3);
    uint64_t stamp = objects_leave((uint64_t)word, place);
    if (moments_waited(mark, &begin, &end))
        waits_tell(MP_WAIT_FUTEX, (uint64_t)word, begin, end, result == 0 ? stamp : 0);
    return result;
}

/* ---- syscall ---- */

#if defined(__x86_64__)

#define SYSCALL                                                                                    \
    "syscall:\n"                                                                                   \
    ".cfi_startproc\n"                                                                             \
    "endbr64\n"                                                                                    \
    "cmpq $202, %rdi\n" /* SYS_futex */                                                            \
    "je preload_futex\n"                                                                           \
    "movq preload_real_syscall(%rip), %rax\n"                                                      \
    "jmp *%rax\n"                                                                                  \
    ".cfi_endproc\n"

#define FIRST                                                                                      \
    "preload_first_syscall:\n"                                                                     \
    ".cfi_startproc\n"                                                                             \
    "endbr64\n"                                                                                    \
    "pushq %rdi\n"                                                                                 \
    "pushq %rsi\n"                                                                                 \
    "pushq %rdx\n"                                                                                 \
    "pushq %rcx\n"                                                                                 \
    "pushq %r8\n"                                                                                  \
    "pushq %r9\n"                                                                                  \
    "subq $8, %rsp\n"                                                                              \
    ".cfi_def_cfa_offset 64\n"                                                                     \
    "call preload_find_syscall\n"                                                                  \
    "movq %rax, preload_real_syscall(%rip)\n"                                                      \
    "addq $8, %rsp\n"                                                                              \
    "popq %r9\n"                                                                                   \
    "popq %r8\n"                                                                                   \
    "popq %rcx\n"                                                                                  \
    "popq %rdx\n"                                                                                  \
    "popq %rsi\n"                                                                                  \
    "popq %rdi\n"                                                                                  \
    ".cfi_def_cfa_offset 8\n"                                                                      \
    "jmp *%rax\n"                                                                                  \
    ".cfi_endproc\n"

#elif defined(__aarch64__)

#define SYSCALL                                                                                    \
    "syscall:\n"                                                                                   \
    ".cfi_startproc\n"                                                                             \
    "hint #34\n"    /* bti c */                                                                    \
    "cmp x0, #98\n" /* SYS_futex */                                                                \
    "b.ne 1f\n"                                                                                    \
    "b preload_futex\n"                                                                            \
    "1: adrp x17, preload_real_syscall\n"                                                          \
    "ldr x16, [x17, #:lo12:preload_real_syscall]\n"                                                \
    "br x16\n"                                                                                     \
    ".cfi_endproc\n"

#define FIRST                                                                                      \
    "preload_first_syscall:\n"                                                                     \
    ".cfi_startproc\n"                                                                             \
    "hint #34\n"                                                                                   \
    "stp x29, x30, [sp, #-80]!\n"                                                                  \
    ".cfi_def_cfa_offset 80\n"                                                                     \
    ".cfi_offset 29, -80\n"                                                                        \
    ".cfi_offset 30, -72\n"                                                                        \
    "stp x0, x1, [sp, #16]\n"                                                                      \
    "stp x2, x3, [sp, #32]\n"                                                                      \
    "stp x4, x5, [sp, #48]\n"                                                                      \
    "stp x6, x7, [sp, #64]\n"                                                                      \
    "bl preload_find_syscall\n"                                                                    \
    "mov x16, x0\n"                                                                                \
    "adrp x17, preload_real_syscall\n"                                                             \
    "str x16, [x17, #:lo12:preload_real_syscall]\n"                                                \
    "ldp x0, x1, [sp, #16]\n"                                                                      \
    "ldp x2, x3, [sp, #32]\n"                                                                      \
    "ldp x4, x5, [sp, #48]\n"                                                                      \
    "ldp x6, x7, [sp, #64]\n"                                                                      \
    "ldp x29, x30, [sp], #80\n"                                                                    \
    ".cfi_def_cfa_offset 0\n"                                                                      \
    ".cfi_restore 29\n"                                                                            \
    ".cfi_restore 30\n"                                                                            \
    "br x16\n"                                                                                     \
    ".cfi_endproc\n"

#endif

/* clang-format off */
__asm__(".text\n"
        ".balign 16\n"
        ".globl syscall\n"
        ".type syscall, %function\n"
        SYSCALL
        ".balign 16\n"
        ".globl preload_first_syscall\n"
        ".hidden preload_first_syscall\n"
        ".type preload_first_syscall, %function\n"
        FIRST);
/* clang-format on */

extern unsigned char preload_first_syscall[] __attribute__((visibility("hidden")));
void *preload_real_syscall = preload_first_syscall;
