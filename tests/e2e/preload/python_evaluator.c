/* Takes the name of Python's evaluator, so that its code lies where no symbol tells. A caller who
 * gets here goes on in the real one, without a frame in between.
 */
#define _GNU_SOURCE
#include <dlfcn.h>

void *_PyEval_EvalFrameDefault(void *thread, void *frame, int throw);

#ifndef __clang__
__attribute__((optimize("optimize-sibling-calls")))
#endif
void *
_PyEval_EvalFrameDefault(void *thread, void *frame, int throw)
{
    static void *(*evaluate)(void *, void *, int);

    if (!evaluate)
        *(void **)&evaluate = dlsym(RTLD_NEXT, "_PyEval_EvalFrameDefault");
    return evaluate(thread, frame, throw);
}
