/* Code of the device that launches kernels by itself (CUDA dynamic parallelism). CUPTI reports no
 * such kernel, so a trace of such a program lacks work that nobody has counted. What can be told is
 * that the code is there: a linked cubin names the device runtime's launch function only if some
 * kernel in it calls that (seen with nvcc 12.8 and 13.0; a program that only links cudadevrt has no
 * such name).
 */
#ifndef MP_RECORD_PLACES_DEVICE_CODE_H
#define MP_RECORD_PLACES_DEVICE_CODE_H

#include <stdbool.h>
#include <stddef.h>

struct recorder;

/* Whether an ELF image of device code has kernels that launch kernels. It is read within `bytes`;
 * what is no ELF image has none. */
bool device_code_launches(const void *cubin, size_t bytes);

/* A module was loaded: CUPTI's CUpti_ModuleResourceData. Any thread. */
void device_code_loaded(struct recorder *recorder, const void *descriptor);

/* CUPTI comes late, so modules may be loaded already: looks into the program's own file instead,
 * where nvlink leaves the linked code uncompressed. Shared libraries are not looked into. */
void device_code_find(struct recorder *recorder);

#endif
