/* The stubs of libminiprof_preload.so, in machine code.
 *
 * A stub does not know the parameters of the function behind it. So it must keep the arguments, the
 * stack and the return address, and ends in a jump. It does not save vector registers: the driver's
 * functions have no arguments there.
 */
#include "preload/slots.h"

#include "base/poison.h"

#define TEXT_(x) #x
#define TEXT(x)  TEXT_(x)

#if defined(__x86_64__)

/* Pushes the slot's number onto the stack, below the return address. */
#define STUB_BYTES 16
#define STUB                                                                                       \
    ".balign 16\n"                                                                                 \
    "endbr64\n"                                                                                    \
    "pushq $slot\n"                                                                                \
    "jmp preload_call\n"                                                                           \
    ".set slot, slot + 1\n"

#define CALL                                                                                       \
    "preload_call:\n"                                                                              \
    ".cfi_startproc\n"                                                                             \
    ".cfi_def_cfa_offset 16\n"                                                                     \
    "pushq %rdi\n"                                                                                 \
    "pushq %rsi\n"                                                                                 \
    "pushq %rdx\n"                                                                                 \
    "pushq %rcx\n"                                                                                 \
    "pushq %r8\n"                                                                                  \
    "pushq %r9\n"                                                                                  \
    ".cfi_def_cfa_offset 64\n"                                                                     \
    "movq 48(%rsp), %rdi\n"                                                                        \
    "call preload_enter\n"                                                                         \
    "popq %r9\n"                                                                                   \
    "popq %r8\n"                                                                                   \
    "popq %rcx\n"                                                                                  \
    "popq %rdx\n"                                                                                  \
    "popq %rsi\n"                                                                                  \
    "popq %rdi\n"                                                                                  \
    "addq $8, %rsp\n"                                                                              \
    ".cfi_def_cfa_offset 8\n"                                                                      \
    "jmp *%rax\n"                                                                                  \
    ".cfi_endproc\n"

#elif defined(__aarch64__)

/* A stub may use x16 and x17: they are free between a call and the called function. x8 is kept: it
 * holds the address of a returned struct. */
#define STUB_BYTES 16
#define STUB                                                                                       \
    ".balign 16\n"                                                                                 \
    "hint #34\n" /* bti c */                                                                       \
    "mov x16, #slot\n"                                                                             \
    "b preload_call\n"                                                                             \
    ".set slot, slot + 1\n"

#define CALL                                                                                       \
    "preload_call:\n"                                                                              \
    ".cfi_startproc\n"                                                                             \
    "stp x29, x30, [sp, #-96]!\n"                                                                  \
    ".cfi_def_cfa_offset 96\n"                                                                     \
    ".cfi_offset 29, -96\n"                                                                        \
    ".cfi_offset 30, -88\n"                                                                        \
    "stp x0, x1, [sp, #16]\n"                                                                      \
    "stp x2, x3, [sp, #32]\n"                                                                      \
    "stp x4, x5, [sp, #48]\n"                                                                      \
    "stp x6, x7, [sp, #64]\n"                                                                      \
    "str x8, [sp, #80]\n"                                                                          \
    "mov x0, x16\n"                                                                                \
    "bl preload_enter\n"                                                                           \
    "mov x16, x0\n"                                                                                \
    "ldp x0, x1, [sp, #16]\n"                                                                      \
    "ldp x2, x3, [sp, #32]\n"                                                                      \
    "ldp x4, x5, [sp, #48]\n"                                                                      \
    "ldp x6, x7, [sp, #64]\n"                                                                      \
    "ldr x8, [sp, #80]\n"                                                                          \
    "ldp x29, x30, [sp], #96\n"                                                                    \
    ".cfi_def_cfa_offset 0\n"                                                                      \
    ".cfi_restore 29\n"                                                                            \
    ".cfi_restore 30\n"                                                                            \
    "br x16\n"                                                                                     \
    ".cfi_endproc\n"

#else
#error "no stubs for this processor: the Makefile builds none"
#endif

/* The name of a linked function is a second name of its stub. */
#define LINKED(name, call)                                                                         \
    ".globl " #name "\n"                                                                           \
    ".type " #name ", %function\n"                                                                 \
    ".balign 16\n" #name ":\n" STUB

/* clang-format off */
__asm__(".text\n"
        ".set slot, 0\n"
        ".balign 16\n"
        ".globl preload_stubs\n"
        ".hidden preload_stubs\n"
        "preload_stubs:\n"
        PRELOAD_LINKED(LINKED)
        ".rept " PRELOAD_SLOTS_TEXT " - " TEXT(PRELOAD_LINKED_COUNT) "\n"
        STUB
        ".endr\n"
        CALL);
/* clang-format on */

extern unsigned char preload_stubs[] __attribute__((visibility("hidden")));

void *preload_stub(unsigned slot)
{
    return preload_stubs + (unsigned long)slot * STUB_BYTES;
}
