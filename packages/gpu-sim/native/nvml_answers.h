/* Shorthands for the many questions that are one field of the identity or of the state. */
#pragma once
#include "board.h"

/* As the driver: the library and the handle are judged before the arguments. */
#define CHECK(device, argument)                                    \
    do {                                                           \
        nvmlReturn_t checked = board_check(device);                \
        if (checked != NVML_SUCCESS) return checked;               \
        if (!(argument)) return NVML_ERROR_INVALID_ARGUMENT;       \
    } while (0)

#define READ(device, argument, state)                              \
    struct board_state state;                                      \
    do {                                                           \
        CHECK(device, argument);                                   \
        nvmlReturn_t was_read = board_read(device, &state);        \
        if (was_read != NVML_SUCCESS) return was_read;             \
    } while (0)

#define IDENTITY_TEXT(function, field)                                                  \
    EXPORT nvmlReturn_t function(nvmlDevice_t device, char *to, unsigned int length) {  \
        CHECK(device, to);                                                              \
        return copy_text(device->identity->field, to, length);                          \
    }

#define IDENTITY_NUMBER(function, expression)                                           \
    EXPORT nvmlReturn_t function(nvmlDevice_t device, unsigned int *value) {            \
        CHECK(device, value);                                                           \
        *value = (unsigned int)(expression);                                            \
        return NVML_SUCCESS;                                                            \
    }

#define STATE_NUMBER(function, field)                                                   \
    EXPORT nvmlReturn_t function(nvmlDevice_t device, unsigned int *value) {            \
        READ(device, value, state);                                                     \
        return told(state.field, value);                                                \
    }

/* What a board does not tell is not supported, never 0. */
static inline nvmlReturn_t told(uint32_t field, unsigned int *value) {
    if (field == NOT_TOLD) return NVML_ERROR_NOT_SUPPORTED;
    *value = field;
    return NVML_SUCCESS;
}
