/* Scenes for the tests of layers. The result is put into short texts, which a test compares with
 * what was worked out by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "unit/layers/layers_fixture.h"

struct layers_result result;

void load_with(struct layers_options options)
{
    options.style = NAMES_READABLE;
    scene_load();
    assert_int_equal(layers_build(scene.deps.profile, &options, &result, NULL), MP_OK);
}

void layers_load(void)
{
    load_with((struct layers_options){.range = 0});
}

void load_again(struct layers_options options)
{
    layers_free(&result);
    options.style = NAMES_READABLE;
    assert_int_equal(layers_build(scene.deps.profile, &options, &result, NULL), MP_OK);
}

void layers_done(void)
{
    layers_free(&result);
    scene_end(UNSOUND);
}

static size_t put_path(char *text, size_t size, uint32_t index)
{
    const struct layer *layer = &result.layers[index];
    size_t used = 0;

    if (layer->parent != LAYER_NONE) {
        used = put_path(text, size, layer->parent);
        used += (size_t)snprintf(text + used, size - used, ">");
    }
    return used + (size_t)snprintf(text + used, size - used, "%s%s%s",
                                   layer->name ? layer->name : "-", layer->domain ? "@" : "",
                                   layer->domain ? layer->domain : "");
}

const char *said(void)
{
    static char text[4096];
    size_t used = 0;

    *text = '\0';
    for (uint32_t i = 0; i < result.count; i++) {
        const struct layer *layer = &result.layers[i];

        used += (size_t)snprintf(text + used, sizeof text - used, "%s", i ? ", " : "");
        used += put_path(text + used, sizeof text - used, i);
        used += (size_t)snprintf(text + used, sizeof text - used, " %u/%u x%u",
                                 (unsigned)(layer->total->device / 1000),
                                 (unsigned)(layer->self->device / 1000), (unsigned)layer->calls);
    }
    return text;
}

const struct layer *layer_called(const char *path)
{
    char text[1024];

    for (uint32_t i = 0; i < result.count; i++) {
        put_path(text, sizeof text, i);
        if (!strcmp(text, path))
            return &result.layers[i];
    }
    fail_msg("no layer %s", path);
    return NULL;
}

void push(const char *name, uint64_t at)
{
    put_nvtx(PUSH, 1, NULL, name, at, 0);
}

void pop(uint64_t at)
{
    put_nvtx(POP, 1, NULL, NULL, at, 0);
}
