/* Code of the device that launches kernels by itself (CUDA dynamic parallelism). CUPTI reports no
 * such kernel, so their number is not known. But we can see whether a module may launch kernels: a
 * linked cubin names the device runtime's launch function only if one of its kernels calls it. Seen
 * with nvcc 12.8 and 13.0. A program that merely links cudadevrt lacks the name.
 */
#ifndef MP_RECORD_CUPTI_DEVICE_CODE_H
#define MP_RECORD_CUPTI_DEVICE_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether an ELF image of device code has kernels that launch kernels. It is read within `bytes`;
 * what is no ELF image has none. */
bool device_code_launches(const void *cubin, size_t bytes);

/* A module was loaded: CUPTI's CUpti_ModuleResourceData. Counts it in `launchers`, if it launches.
 * Any thread. */
void device_code_loaded(_Atomic uint64_t *launchers, const void *descriptor);

/* CUPTI comes late, so modules may be loaded already: looks into the program's own file instead,
 * where nvlink leaves the linked code uncompressed. Shared libraries are not looked into. */
void device_code_find(_Atomic uint64_t *launchers);

#endif
