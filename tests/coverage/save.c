/* For the recorder in a build for `make coverage`: gcc's counters are written when a process exits.
 * Many tests end it otherwise, by a signal or _exit, so here they are also written where the file
 * is complete and where the recorder gives a signal back. The linker puts these functions in front
 * (--wrap).
 */
#include <signal.h>

#include "trace/writer.h"

void __gcov_dump(void);
void __gcov_reset(void);
int __real_raise(int number);
int __real_sigaction(int number, const struct sigaction *action, struct sigaction *before);
enum mp_status __real_mp_writer_close(struct mp_writer *writer, struct mp_error *error);
int __wrap_raise(int number);
int __wrap_sigaction(int number, const struct sigaction *action, struct sigaction *before);
enum mp_status __wrap_mp_writer_close(struct mp_writer *writer, struct mp_error *error);

/* Adds the counts to the files; they begin at 0 again, so none counts twice. */
static void save(void)
{
    __gcov_dump();
    __gcov_reset();
}

int __wrap_raise(int number)
{
    save();
    return __real_raise(number);
}

/* A crash handler, before the signal happens again. */
int __wrap_sigaction(int number, const struct sigaction *action, struct sigaction *before)
{
    if (action && action->sa_handler == SIG_DFL)
        save();
    return __real_sigaction(number, action, before);
}

enum mp_status __wrap_mp_writer_close(struct mp_writer *writer, struct mp_error *error)
{
    enum mp_status status = __real_mp_writer_close(writer, error);

    save();
    return status;
}
