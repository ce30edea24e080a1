/* Its constructor says in descriptor 9 that it has begun, and waits there for leave to go on. */
#include <unistd.h>

__attribute__((constructor)) static void wait_for_leave(void)
{
    char byte = 'c';

    if (write(9, &byte, 1) != 1 || read(9, &byte, 1) != 1)
        _exit(1);
}
