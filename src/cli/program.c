/* The file of a program to be run: where PATH finds it, which libraries its dynamic section names,
 * and which loader. For example, a preloaded library must not come before libasan.so.
 */
#include "cli/program.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/text/strings.h"

#include "base/poison.h"

static bool is_program(const char *path)
{
    struct stat info;

    if (stat(path, &info) != 0)
        return false;
    errno = EACCES;
    return S_ISREG(info.st_mode) && access(path, X_OK) == 0;
}

static bool find_in_path(const char *name, char path[PATH_MAX])
{
    const char *folders = getenv("PATH");

    errno = ENOENT;
    while (folders && *folders && *name) {
        size_t bytes = strcspn(folders, ":");
        int length =
            snprintf(path, PATH_MAX, "%.*s%s%s", (int)bytes, folders, bytes ? "/" : "", name);

        if (length > 0 && length < PATH_MAX && is_program(path))
            return true;
        folders += bytes + (folders[bytes] != '\0');
    }
    return false;
}

bool program_find(const char *name, char path[PATH_MAX])
{
    if (strchr(name, '/'))
        return mp_text_copy(path, PATH_MAX, name) && is_program(path);
    if (find_in_path(name, path))
        return true;
    int length = snprintf(path, PATH_MAX, "./%s", name);
    return *name && length < PATH_MAX && is_program(path);
}

/* ---- What it is linked to ---- */

#define MAX_SEGMENTS 64
#define MAX_DYNAMIC  4096 /* entries; programs have about 30 */

struct elf {
    int fd;
    Elf64_Ehdr header;
    Elf64_Phdr segments[MAX_SEGMENTS];
    Elf64_Dyn *dynamic; /* owned */
    size_t dynamic_count;
};

static bool read_at(const struct elf *elf, void *data, size_t bytes, uint64_t offset)
{
    struct mp_error error;

    return mp_pread_exact(elf->fd, data, bytes, offset, &error) == MP_OK;
}

static bool read_headers(struct elf *elf)
{
    const uint16_t one = 1;
    unsigned char order = *(const unsigned char *)&one ? ELFDATA2LSB : ELFDATA2MSB;
    Elf64_Ehdr *header = &elf->header;

    return read_at(elf, header, sizeof *header, 0) &&
           memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
           header->e_ident[EI_CLASS] == ELFCLASS64 && header->e_ident[EI_DATA] == order &&
           header->e_phentsize == sizeof(Elf64_Phdr) && header->e_phnum <= MAX_SEGMENTS &&
           read_at(elf, elf->segments, header->e_phnum * sizeof(Elf64_Phdr), header->e_phoff);
}

static bool read_dynamic(struct elf *elf)
{
    for (size_t i = 0; i < elf->header.e_phnum; i++) {
        const Elf64_Phdr *segment = &elf->segments[i];

        if (segment->p_type != PT_DYNAMIC)
            continue;
        elf->dynamic_count = segment->p_filesz / sizeof(Elf64_Dyn);
        if (elf->dynamic_count > MAX_DYNAMIC)
            return false;
        elf->dynamic = calloc(elf->dynamic_count + 1, sizeof(Elf64_Dyn));
        return elf->dynamic && read_at(elf, elf->dynamic, elf->dynamic_count * sizeof(Elf64_Dyn),
                                       segment->p_offset);
    }
    return false;
}

/* The offset in the file of an address; 0: the file does not contain it. */
static uint64_t offset_of(const struct elf *elf, uint64_t address)
{
    for (size_t i = 0; i < elf->header.e_phnum; i++) {
        const Elf64_Phdr *segment = &elf->segments[i];

        if (segment->p_type == PT_LOAD && address >= segment->p_vaddr &&
            address - segment->p_vaddr < segment->p_filesz)
            return segment->p_offset + (address - segment->p_vaddr);
    }
    return 0;
}

static bool lists(const struct elf *elf, const char *library)
{
    char name[64] = "";
    size_t length = strlen(library);
    uint64_t names = 0;

    for (size_t i = 0; i < elf->dynamic_count; i++)
        if (elf->dynamic[i].d_tag == DT_STRTAB)
            names = offset_of(elf, elf->dynamic[i].d_un.d_ptr);
    if (!names || length >= sizeof name)
        return false;
    for (size_t i = 0; i < elf->dynamic_count && elf->dynamic[i].d_tag != DT_NULL; i++)
        if (elf->dynamic[i].d_tag == DT_NEEDED &&
            read_at(elf, name, length, names + elf->dynamic[i].d_un.d_val) &&
            memcmp(name, library, length) == 0)
            return true;
    return false;
}

static bool open_elf(struct elf *elf, const char *path)
{
    struct mp_error error;
    uint64_t bytes;

    elf->dynamic = NULL;
    if (mp_open_file(path, &elf->fd, &bytes, &error) != MP_OK)
        return false;
    if (read_headers(elf))
        return true;
    close(elf->fd);
    return false;
}

static void close_elf(struct elf *elf)
{
    free(elf->dynamic);
    close(elf->fd);
}

bool program_needs(const char *path, const char *library)
{
    struct elf elf;

    if (!open_elf(&elf, path))
        return false;
    bool needs = read_dynamic(&elf) && lists(&elf, library);
    close_elf(&elf);
    return needs;
}

static bool read_interpreter(const struct elf *elf, char interpreter[PATH_MAX])
{
    for (size_t i = 0; i < elf->header.e_phnum; i++) {
        const Elf64_Phdr *segment = &elf->segments[i];

        if (segment->p_type != PT_INTERP)
            continue;
        if (segment->p_filesz >= PATH_MAX)
            return false;
        interpreter[segment->p_filesz] = '\0';
        return read_at(elf, interpreter, segment->p_filesz, segment->p_offset);
    }
    return false;
}

bool program_interpreter(const char *path, char interpreter[PATH_MAX])
{
    struct elf elf;

    if (!open_elf(&elf, path))
        return false;
    bool has = read_interpreter(&elf, interpreter);
    close_elf(&elf);
    return has;
}

/* ---- A folder for their traces ---- */

enum mp_status scratch_make(char folder[SCRATCH_BYTES], struct mp_error *error)
{
    const char *base = secure_getenv("TMPDIR");

    snprintf(folder, SCRATCH_BYTES, "%s/miniprof.XXXXXX", base && *base ? base : "/tmp");
    if (strchr(folder, '%'))
        mp_error_set(error, MP_ERR_IO, "TMPDIR has a percent sign in it: '%.150s'", base);
    else if (mkdtemp(folder))
        return MP_OK;
    else
        mp_error_set(error, MP_ERR_IO, "cannot make a temporary folder: %m");
    folder[0] = '\0';
    return MP_ERR_IO;
}
