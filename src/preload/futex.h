/* Between syscall.c, in machine code, and futex.c. */
#ifndef MP_PRELOAD_WAITS_FUTEX_H
#define MP_PRELOAD_WAITS_FUTEX_H

/* syscall(SYS_futex, ...). */
long preload_futex(long number, long word, long operation, long value, long time, long other,
                   long value3);

/* Finds the real function syscall, for the first call of another number. */
void *preload_find_syscall(void);

#endif
