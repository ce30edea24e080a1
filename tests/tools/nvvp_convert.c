/* Turns a trace into a file of nvprof's and back: nvvp_convert write IN.mpt OUT.nvvp,
 * nvvp_convert read IN.nvvp OUT.mpt, nvvp_convert is FILE. Exit status 3: built without SQLite. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "export/nvvp/nvvp.h"

static enum mp_status write_nvvp(const char *from, const char *to, struct mp_error *error)
{
    struct mp_trace *trace;
    enum mp_status status = mp_trace_open(from, &trace, error);

    if (status == MP_OK)
        status = nvvp_write(trace, to, error);
    mp_trace_close(trace);
    return status;
}

static enum mp_status read_nvvp(const char *from, const char *to, struct mp_error *error)
{
    enum mp_status status;
    int fd;

    status = mp_create_exclusive(to, &fd, error);
    if (status != MP_OK)
        return status;
    status = nvvp_read(from, fd, error);
    close(fd);
    return status;
}

int main(int argc, char **argv)
{
    struct mp_error error = {.status = MP_OK};
    enum mp_status status;

    if (argc == 3 && !strcmp(argv[1], "is"))
        return nvvp_is(argv[2]) ? 0 : 1;
    if (argc == 4 && !strcmp(argv[1], "write"))
        status = write_nvvp(argv[2], argv[3], &error);
    else if (argc == 4 && !strcmp(argv[1], "read"))
        status = read_nvvp(argv[2], argv[3], &error);
    else
        return fprintf(stderr, "usage: nvvp_convert write|read IN OUT, or nvvp_convert is FILE\n"),
               2;
    if (status == MP_OK)
        return 0;
    fprintf(stderr, "nvvp_convert: %s\n", error.text);
    return status == MP_ERR_UNSUPPORTED ? 3 : 1;
}
