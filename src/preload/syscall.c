/* The function `syscall` that programs call instead of libc's, in machine code: all numbers but
 * SYS_futex end in a jump, since some, such as SYS_vfork, return twice to their caller.
 */
#include "preload/futex.h"

#include "base/poison.h"

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

/* Where calls go that are no futex: at first to the code that finds the real function. */
extern void *preload_real_syscall __attribute__((visibility("hidden")));
void *preload_real_syscall = preload_first_syscall;
