/* Device code that launches kernels is told by the names in its ELF image, which may be damaged. */
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "record/cupti/contexts.h"

#include "base/poison.h"

#define NAMES_AT sizeof(Elf64_Ehdr)

/* An image as nvcc makes it, as far as it matters: names, then the heads of two sections. */
struct image {
    char *bytes;
    size_t size;
    Elf64_Ehdr *header;
    Elf64_Shdr *sections;
};

static struct image make_image(const char *names, size_t count, uint32_t type)
{
    size_t heads = (NAMES_AT + count + 7) / 8 * 8;
    struct image image = {.size = heads + 2 * sizeof(Elf64_Shdr)};

    image.bytes = calloc(1, image.size);
    assert_non_null(image.bytes);
    image.header = (Elf64_Ehdr *)(void *)image.bytes;
    image.sections = (Elf64_Shdr *)(void *)(image.bytes + heads);
    memcpy(image.header->e_ident, ELFMAG, SELFMAG);
    image.header->e_ident[EI_CLASS] = ELFCLASS64;
    image.header->e_shoff = heads;
    image.header->e_shnum = 2;
    memcpy(image.bytes + NAMES_AT, names, count);
    image.sections[1] = (Elf64_Shdr){.sh_type = type, .sh_offset = NAMES_AT, .sh_size = count};
    return image;
}

static bool launches(const struct image *image)
{
    return device_code_launches(image->bytes, image->size);
}

static const char calls[] = "\0.text.parent\0__cudaCDP2LaunchDeviceV2\0parent";
static const char plain[] = "\0.text.parent\0parent\0__cudaCDP2GetParameterBuffer";

static void the_name_of_the_launch_function_tells(void **state)
{
    struct image with = make_image(calls, sizeof calls, SHT_STRTAB);
    struct image without = make_image(plain, sizeof plain, SHT_STRTAB);
    struct image data = make_image(calls, sizeof calls, SHT_PROGBITS);

    (void)state;
    assert_true(launches(&with));
    assert_false(launches(&without));
    assert_false(launches(&data)); /* a constant of the program may be that text */
    free(with.bytes);
    free(without.bytes);
    free(data.bytes);
}

static void what_is_no_elf_image_has_none(void **state)
{
    struct image image = make_image(calls, sizeof calls, SHT_STRTAB);

    (void)state;
    assert_false(device_code_launches(".version 8.0 cudaLaunchDeviceV2", 32));
    assert_false(device_code_launches("", 0));
    image.header->e_ident[EI_CLASS] = ELFCLASS32;
    assert_false(launches(&image));
    free(image.bytes);
}

/* Each size, and each field at its greatest: nothing is read behind the image (AddressSanitizer).
 */
static void a_damaged_image_is_read_within_its_bytes(void **state)
{
    struct image whole = make_image(calls, sizeof calls, SHT_STRTAB);

    (void)state;
    for (size_t size = 0; size < whole.size; size++) {
        char *cut = malloc(size ? size : 1);

        assert_non_null(cut);
        memcpy(cut, whole.bytes, size);
        assert_false(device_code_launches(cut, size));
        free(cut);
    }
    whole.sections[1].sh_size = UINT64_MAX;
    assert_false(launches(&whole));
    whole.sections[1].sh_size = sizeof calls;
    whole.sections[1].sh_offset = UINT64_MAX;
    assert_false(launches(&whole));
    whole.header->e_shnum = UINT16_MAX;
    assert_false(launches(&whole));
    whole.header->e_shoff = UINT64_MAX;
    assert_false(launches(&whole));
    free(whole.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_name_of_the_launch_function_tells),
        cmocka_unit_test(what_is_no_elf_image_has_none),
        cmocka_unit_test(a_damaged_image_is_read_within_its_bytes),
    };

    return cmocka_run_group_tests_name("record/device_code", tests, NULL, NULL);
}
