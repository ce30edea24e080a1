/* The dlsym that programs call instead of glibc's, in machine code. Where the real one must answer,
 * it ends in a jump, so that the real one sees the caller's return address. It does not save vector
 * registers: dlsym has no arguments there.
 */
#include "preload/slots.h"

#include "base/poison.h"

#if defined(__x86_64__)

#define DLSYM                                                                                      \
    "dlsym:\n"                                                                                     \
    ".cfi_startproc\n"                                                                             \
    "endbr64\n"                                                                                    \
    "pushq %rdi\n"                                                                                 \
    "pushq %rsi\n"                                                                                 \
    "subq $8, %rsp\n"                                                                              \
    ".cfi_def_cfa_offset 32\n"                                                                     \
    "call preload_lookup\n"                                                                        \
    "addq $8, %rsp\n"                                                                              \
    "popq %rsi\n"                                                                                  \
    "popq %rdi\n"                                                                                  \
    ".cfi_def_cfa_offset 8\n"                                                                      \
    "testq %rax, %rax\n"                                                                           \
    "jz 1f\n"                                                                                      \
    "cmpq $-1, %rax\n" /* PRELOAD_NOT_THERE */                                                     \
    "jne 2f\n"                                                                                     \
    "xorl %eax, %eax\n"                                                                            \
    "2: ret\n"                                                                                     \
    "1: movq preload_real_dlsym(%rip), %rax\n"                                                     \
    "jmp *%rax\n"                                                                                  \
    ".cfi_endproc\n"

#elif defined(__aarch64__)

#define DLSYM                                                                                      \
    "dlsym:\n"                                                                                     \
    ".cfi_startproc\n"                                                                             \
    "hint #34\n"                                                                                   \
    "stp x29, x30, [sp, #-32]!\n"                                                                  \
    ".cfi_def_cfa_offset 32\n"                                                                     \
    ".cfi_offset 29, -32\n"                                                                        \
    ".cfi_offset 30, -24\n"                                                                        \
    "stp x0, x1, [sp, #16]\n"                                                                      \
    "bl preload_lookup\n"                                                                          \
    "mov x16, x0\n"                                                                                \
    "ldp x0, x1, [sp, #16]\n"                                                                      \
    "ldp x29, x30, [sp], #32\n"                                                                    \
    ".cfi_def_cfa_offset 0\n"                                                                      \
    ".cfi_restore 29\n"                                                                            \
    ".cfi_restore 30\n"                                                                            \
    "cbz x16, 1f\n"                                                                                \
    "cmn x16, #1\n" /* PRELOAD_NOT_THERE */                                                        \
    "csel x0, xzr, x16, eq\n"                                                                      \
    "ret\n"                                                                                        \
    "1: adrp x17, preload_real_dlsym\n"                                                            \
    "ldr x16, [x17, #:lo12:preload_real_dlsym]\n"                                                  \
    "br x16\n"                                                                                     \
    ".cfi_endproc\n"

#endif

/* clang-format off */
__asm__(".text\n"
        ".balign 16\n"
        ".globl dlsym\n"
        ".type dlsym, %function\n"
        DLSYM);
/* clang-format on */
