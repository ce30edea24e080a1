/* Looks for the device runtime's launch function among the names of device code. */
#include "record/cupti/device_code.h"

#include <cupti.h>
#include <elf.h>
#include <link.h>
#include <stdatomic.h>
#include <string.h>

#include "base/poison.h"

/* Of __cudaCDP2LaunchDeviceV2, and of cudaLaunchDeviceV2 before CUDA 12. */
static const char launch_name[] = "LaunchDeviceV2";

static bool names_launch(const void *bytes, size_t count)
{
    return memmem(bytes, count, launch_name, sizeof(launch_name) - 1) != NULL;
}

/* Whether the string table `number` names it. */
static bool section_names_launch(const char *cubin, size_t bytes, const Elf64_Ehdr *header,
                                 unsigned number)
{
    Elf64_Shdr section;

    memcpy(&section, cubin + header->e_shoff + number * sizeof(section), sizeof(section));
    return section.sh_type == SHT_STRTAB && section.sh_offset <= bytes &&
           section.sh_size <= bytes - section.sh_offset &&
           names_launch(cubin + section.sh_offset, section.sh_size);
}

bool device_code_launches(const void *cubin, size_t bytes)
{
    Elf64_Ehdr header;

    if (bytes < sizeof(header))
        return false;
    memcpy(&header, cubin, sizeof(header));
    if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_shoff > bytes || header.e_shnum > (bytes - header.e_shoff) / sizeof(Elf64_Shdr))
        return false;
    for (unsigned i = 0; i < header.e_shnum; i++)
        if (section_names_launch(cubin, bytes, &header, i))
            return true;
    return false;
}

void device_code_loaded(_Atomic uint64_t *launchers, const void *descriptor)
{
    const CUpti_ModuleResourceData *module = descriptor;

    if (module && module->pCubin && device_code_launches(module->pCubin, module->cubinSize))
        atomic_fetch_add(launchers, 1);
}

/* The first object is the program. Only what is mapped without write permission can be code. */
static int look_into_program(struct dl_phdr_info *info, size_t size, void *found)
{
    (void)size;
    for (unsigned i = 0; i < info->dlpi_phnum && !*(bool *)found; i++) {
        const Elf64_Phdr *segment = &info->dlpi_phdr[i];

        if (segment->p_type == PT_LOAD && (segment->p_flags & PF_R) && !(segment->p_flags & PF_W))
            *(bool *)found =
                names_launch((const void *)(info->dlpi_addr + segment->p_vaddr), segment->p_filesz);
    }
    return 1;
}

void device_code_find(_Atomic uint64_t *launchers)
{
    bool found = false;

    dl_iterate_phdr(look_into_program, &found);
    if (found)
        atomic_fetch_add(launchers, 1);
}
