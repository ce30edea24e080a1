/* A step that denies the process a system call, as sandboxes do. */
#ifndef E2E_SANDBOX_H
#define E2E_SANDBOX_H

/* CALL:ERRNO, such as getpid:1: from here on the call fails with that number, in all threads and in
 * the programs that the process becomes. */
void deny_call(const char *value);

/* Prints the names that deny_call knows, a line each. */
void print_deniable(const char *unused);

#endif
