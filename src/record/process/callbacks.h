/* The function that CUPTI calls back. */
#ifndef MP_RECORD_PROCESS_CALLBACKS_H
#define MP_RECORD_PROCESS_CALLBACKS_H

#include <cupti.h>

/* `userdata` is the recorder. Any thread of the application; does nothing unless RECORDING. */
void CUPTIAPI callbacks_take(void *userdata, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
                             const void *data);

#endif
