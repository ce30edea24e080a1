/*
 * module.c: modules and functions. PTX is not compiled: only the names and the parameter lists of
 * its .entry points are read, which is what launching and profiling them needs. What a kernel
 * does is looked up by its name (kernels.c).
 */
#include "simgpu.h"

#include <ctype.h>
#include <elf.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static CUmodule modules;
static uint32_t last_module_id;

/* Records point at kernel names long after the module is gone, so names are never freed; there
 * are as many as the program has distinct kernels. */
const char *sg_intern(const char *text, size_t length)
{
    static struct name {
        struct name *next;
        size_t length;
        char text[];
    } * names;
    struct name *name;

    for (name = names; name; name = name->next)
        if (name->length == length && memcmp(name->text, text, length) == 0)
            return name->text;
    name = malloc(sizeof(*name) + length + 1);
    if (!name)
        return "";
    memcpy(name->text, text, length);
    name->text[length] = '\0';
    name->length = length;
    name->next = names;
    names = name;
    return name->text;
}

static bool is_name_char(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$';
}

/* Bytes of a PTX type such as ".u32" or ".b8"; 0 when it is none. */
static uint32_t type_bytes(const char *type)
{
    unsigned long bits;

    if (!strchr("usbf", type[1]) || !isdigit((unsigned char)type[2]))
        return 0;
    bits = strtoul(type + 2, NULL, 10);
    return bits <= 64 ? (uint32_t)(bits / 8) : 0;
}

/* One ".param .align 8 .b8 name[24]" or ".param .u64 .ptr name"; text ends at , or ). */
static bool parse_param(CUfunction function, const char *text, const char *end)
{
    uint32_t align = 0, bytes = 0, count = 1;

    for (const char *p = text; p < end; p++) {
        if (strncmp(p, ".align", 6) == 0)
            align = (uint32_t)strtoul(p + 6, NULL, 10);
        else if (*p == '.' && !bytes)
            bytes = type_bytes(p);
        else if (*p == '[')
            count = (uint32_t)strtoul(p + 1, NULL, 10);
    }
    if (!bytes)
        return true; /* an empty list */
    if (function->param_count == SG_MAX_PARAMS)
        return false;
    if (align < bytes)
        align = bytes;
    function->param_bytes = (function->param_bytes + align - 1) / align * align;
    function->param_offset[function->param_count] = function->param_bytes;
    function->param_size[function->param_count++] = bytes * count;
    function->param_bytes += bytes * count;
    return true;
}

static bool parse_params(CUfunction function, const char *text)
{
    const char *close = strchr(text, ')');

    while (close && text < close) {
        const char *comma = strchr(text, ',');
        const char *end = comma && comma < close ? comma : close;

        if (!parse_param(function, text, end))
            return false;
        text = end + 1;
    }
    return close != NULL;
}

static bool parse_entry(CUmodule module, const char *text)
{
    CUfunction function = calloc(1, sizeof(*function));
    CUfunction *last = &module->functions;
    const char *end;

    if (!function)
        return false;
    while (*last)
        last = &(*last)->next;
    *last = function;
    while (isspace((unsigned char)*text))
        text++;
    for (end = text; is_name_char(*end); end++)
        ;
    function->module = module;
    function->name = sg_intern(text, (size_t)(end - text));
    while (isspace((unsigned char)*end))
        end++;
    return *end != '(' || parse_params(function, end + 1);
}

static void module_free(CUmodule module)
{
    while (module->functions) {
        CUfunction function = module->functions;

        module->functions = function->next;
        free(function);
    }
    free(module->image);
    free(module);
}

/* What CUPTI shows of a module: an ELF image whose string table has the names of the PTX text, here
 * that text itself. */
struct cubin {
    Elf64_Ehdr header;
    Elf64_Shdr sections[2];
    char names[];
};

static struct cubin *make_cubin(const char *text, size_t *bytes)
{
    size_t count = strlen(text) + 1;
    struct cubin *cubin = calloc(1, sizeof(*cubin) + count);

    *bytes = sizeof(*cubin) + count;
    if (!cubin)
        return NULL;
    memcpy(cubin->header.e_ident, ELFMAG, SELFMAG);
    cubin->header.e_ident[EI_CLASS] = ELFCLASS64;
    cubin->header.e_shoff = offsetof(struct cubin, sections);
    cubin->header.e_shnum = 2;
    cubin->sections[1] = (Elf64_Shdr){
        .sh_type = SHT_STRTAB, .sh_offset = offsetof(struct cubin, names), .sh_size = count};
    memcpy(cubin->names, text, count);
    return cubin;
}

static void module_notify(uint32_t cbid, CUmodule module)
{
    size_t bytes;
    struct cubin *cubin = make_cubin(module->image, &bytes);
    CUpti_ModuleResourceData data = {
        .moduleId = module->id, .cubinSize = cubin ? bytes : 0, .pCubin = (const char *)cubin};

    sg_resource(cbid, module->context, NULL, &data);
    free(cubin);
}

/* Who compiles last, and until when: it holds the lock of its context. */
static struct {
    CUcontext context;
    pthread_t thread;
    uint64_t from, until;
} compiling;

void sg_waitForCompiling(void)
{
    if (compiling.context == sg_context() && !pthread_equal(compiling.thread, pthread_self()) &&
        sg_now() >= compiling.from && sg_now() < compiling.until)
        sg_advance(compiling.until - sg_now());
}

/* SIMGPU_JIT: the ns that compiling takes; without it CUPTI is told nothing. */
static void compile(CUmodule module)
{
    const char *ns = getenv("SIMGPU_JIT");
    struct simgpu_activity activity = {.kind = SIMGPU_KIND_JIT,
                                       .device = (uint32_t)module->context->device->ordinal,
                                       .correlation = sg_currentCall()->correlation};

    if (!ns)
        return;
    activity.start = sg_now();
    sg_advance(strtoull(ns, NULL, 10));
    activity.end = sg_now();
    compiling.context = module->context;
    compiling.thread = pthread_self();
    compiling.from = sg_currentCall()->start;
    compiling.until = activity.end;
    sg_emit(&activity);
}

static CUresult module_load(CUmodule *out, const void *image)
{
    const char *text = image;
    CUmodule module;

    if (!out || !image)
        return CUDA_ERROR_INVALID_VALUE;
    /* An ELF or fat binary holds machine code, of which we cannot even read the names. */
    if (!isspace((unsigned char)*text) && *text != '.' && *text != '/')
        return CUDA_ERROR_NO_BINARY_FOR_GPU;
    module = calloc(1, sizeof(*module));
    if (!module)
        return CUDA_ERROR_OUT_OF_MEMORY;
    module->context = sg_context();
    module->id = ++last_module_id;
    module->image = strdup(text);
    for (text = strstr(text, ".entry"); text; text = strstr(text + 6, ".entry")) {
        if (!parse_entry(module, text + 6)) {
            module_free(module);
            return CUDA_ERROR_INVALID_PTX;
        }
    }
    compile(module);
    module->next = modules;
    modules = module;
    *out = module;
    module_notify(CUPTI_CBID_RESOURCE_MODULE_LOADED, module);
    return CUDA_SUCCESS;
}

SG_FUNCTION(cuModuleLoadData, (CUmodule * module, const void *image), module, image)
{
    return module_load(module, image);
}

SG_FUNCTION(cuModuleLoadDataEx,
            (CUmodule * module, const void *image, unsigned int numOptions, CUjit_option *options,
             void **optionValues),
            module, image, numOptions, options, optionValues)
{
    (void)numOptions;
    (void)options;
    (void)optionValues;
    return module_load(module, image);
}

SG_FUNCTION(cuModuleUnload, (CUmodule hmod), hmod)
{
    CUmodule *link = &modules;

    while (*link && *link != hmod)
        link = &(*link)->next;
    if (!*link)
        return CUDA_ERROR_INVALID_HANDLE;
    module_notify(CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING, hmod);
    for (link = &modules; *link != hmod; link = &(*link)->next)
        ; /* again: the client ran without the lock */
    *link = hmod->next;
    module_free(hmod);
    return CUDA_SUCCESS;
}

SG_FUNCTION(cuModuleGetFunction, (CUfunction * hfunc, CUmodule hmod, const char *name), hfunc, hmod,
            name)
{
    if (!hfunc || !name)
        return CUDA_ERROR_INVALID_VALUE;
    if (!hmod)
        return CUDA_ERROR_INVALID_HANDLE;
    for (CUfunction f = hmod->functions; f; f = f->next) {
        if (strcmp(f->name, name) == 0) {
            *hfunc = f;
            return CUDA_SUCCESS;
        }
    }
    return CUDA_ERROR_NOT_FOUND;
}

#ifndef SIMGPU_LACKS_cuModuleGetFunctionCount
SG_FUNCTION(cuModuleGetFunctionCount, (unsigned int *count, CUmodule mod), count, mod)
{
    if (!count || !mod)
        return CUDA_ERROR_INVALID_VALUE;
    *count = 0;
    for (CUfunction f = mod->functions; f; f = f->next)
        ++*count;
    return CUDA_SUCCESS;
}
#endif

SG_FUNCTION(cuModuleGetLoadingMode, (CUmoduleLoadingMode * mode), mode)
{
    if (!mode)
        return CUDA_ERROR_INVALID_VALUE;
    *mode = CU_MODULE_LAZY_LOADING;
    return CUDA_SUCCESS;
}

SG_FUNCTION(cuFuncGetAttribute, (int *pi, CUfunction_attribute attrib, CUfunction hfunc), pi,
            attrib, hfunc)
{
    if (!pi || !hfunc)
        return CUDA_ERROR_INVALID_VALUE;
    *pi = attrib == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? 1024
          : attrib == CU_FUNC_ATTRIBUTE_NUM_REGS            ? 32
                                                            : 0;
    return CUDA_SUCCESS;
}

SG_FUNCTION(cuFuncSetAttribute, (CUfunction hfunc, CUfunction_attribute attrib, int value), hfunc,
            attrib, value)
{
    (void)attrib;
    (void)value;
    return hfunc ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

SG_FUNCTION(cuFuncSetCacheConfig, (CUfunction hfunc, CUfunc_cache config), hfunc, config)
{
    (void)config;
    return hfunc ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

SG_FUNCTION(cuFuncGetModule, (CUmodule * hmod, CUfunction hfunc), hmod, hfunc)
{
    if (!hmod || !hfunc)
        return CUDA_ERROR_INVALID_VALUE;
    *hmod = hfunc->module;
    return CUDA_SUCCESS;
}

#ifndef SIMGPU_LACKS_cuFuncGetName
SG_FUNCTION(cuFuncGetName, (const char **name, CUfunction hfunc), name, hfunc)
{
    if (!name || !hfunc)
        return CUDA_ERROR_INVALID_VALUE;
    *name = hfunc->name;
    return CUDA_SUCCESS;
}
#endif
