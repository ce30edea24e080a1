/* Makes 5,000 calls, and then loads Python, which makes 3,000 from a function `late`.
 *
 *   late_python LIBPYTHON
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include <cuda.h>

static const char program[] = "import ctypes\n"
                              "cuda = ctypes.CDLL('libcuda.so.1')\n"
                              "memory = ctypes.c_uint64()\n"
                              "cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(64))\n"
                              "def late():\n"
                              "    for i in range(3000):\n"
                              "        cuda.cuMemsetD8_v2(memory, 1, ctypes.c_size_t(64))\n"
                              "late()\n";

static void check(CUresult status)
{
    if (status)
        exit((int)status);
}

static int run_python(const char *library)
{
    void *python = dlopen(library, RTLD_NOW | RTLD_GLOBAL);
    void (*begin)(int);
    int (*run)(const char *);

    if (!python)
        return 1;
    *(void **)&begin = dlsym(python, "Py_InitializeEx");
    *(void **)&run = dlsym(python, "PyRun_SimpleString");
    begin(0);
    return run(program);
}

int main(int count, char **arguments)
{
    CUdeviceptr memory;
    CUcontext context;

    if (count != 2)
        return 2;
    check(cuInit(0));
    check(cuDevicePrimaryCtxRetain(&context, 0));
    check(cuCtxSetCurrent(context));
    check(cuMemAlloc(&memory, 64));
    for (int i = 0; i < 5000; i++)
        check(cuMemsetD8(memory, 1, 64));
    return run_python(arguments[1]);
}
