/* A C extension that calls back into Python: with the GIL that it has, and with one that it has let
 * go and takes again as a thread of C does. */
#include <Python.h>

static PyObject *call(PyObject *self, PyObject *function)
{
    (void)self;
    return PyObject_CallObject(function, NULL);
}

static PyObject *call_without(PyObject *self, PyObject *function)
{
    PyThreadState *thread = PyEval_SaveThread();
    PyGILState_STATE state = PyGILState_Ensure();
    PyObject *result = PyObject_CallObject(function, NULL);

    (void)self;
    PyGILState_Release(state);
    PyEval_RestoreThread(thread);
    return result;
}

static PyMethodDef methods[] = {
    {"call", call, METH_O, NULL},
    {"call_without", call_without, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {
    .m_base = PyModuleDef_HEAD_INIT, .m_name = "extension", .m_size = -1, .m_methods = methods};

PyMODINIT_FUNC PyInit_extension(void)
{
    return PyModule_Create(&module);
}
