/* Makes Python one that nobody knows yet, as far as its version says. */
const unsigned long Py_Version = 0x031e00f0;
