/* host.c: a program that knows nothing of CUDA: `host COUNT LIBRARY` loads the library, calls its
 * use_gpu and lets go of it, so often. Not linked to libcuda (e2e.mk). */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    for (long i = strtol(argv[1], NULL, 10); i > 0; i--) {
        void *library = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
        void (*use)(void) = NULL;

        if (!library) {
            fprintf(stderr, "host: %s\n", dlerror());
            return 1;
        }
        *(void **)&use = dlsym(library, "use_gpu");
        use();
        dlclose(library);
    }
    puts("done");
    return 0;
}
