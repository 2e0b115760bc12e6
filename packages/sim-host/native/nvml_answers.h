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

/* The same for what a MIG device answers as well. `mig` is NULL for a board. */
#define READ_ANY(device, argument, state, mig)                                   \
    struct board_state state;                                                    \
    const struct compute_instance *mig = NULL;                                   \
    do {                                                                         \
        nvmlReturn_t was_read = board_read(device, &state);                      \
        if (was_read != NVML_SUCCESS) return was_read;                           \
        if (!(argument)) return NVML_ERROR_INVALID_ARGUMENT;                     \
        if (device->parent && !(mig = find_mig_device(&state, device)))          \
            return NVML_ERROR_NOT_FOUND; /* its instance was destroyed */        \
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

/* What a board does not tell is not supported, and what could not be read is an error, never 0. */
static inline nvmlReturn_t whether_told(uint32_t field) {
    return field == NOT_TOLD ? NVML_ERROR_NOT_SUPPORTED : field == NOT_READ ? NVML_ERROR_UNKNOWN : NVML_SUCCESS;
}
static inline nvmlReturn_t told(uint32_t field, unsigned int *value) {
    if (whether_told(field) != NVML_SUCCESS) return whether_told(field);
    *value = field;
    return NVML_SUCCESS;
}

static inline const struct gpu_instance *find_gpu_instance(const struct board_state *state, unsigned int id) {
    for (unsigned int i = 0; i < state->gpuInstanceCount; i++)
        if (state->gpuInstances[i].id == id) return &state->gpuInstances[i];
    return NULL;
}
static inline const struct compute_instance *find_compute_instance(const struct board_state *state, unsigned int gpu_instance,
                                                                   unsigned int id) {
    for (unsigned int i = 0; i < state->computeInstanceCount; i++)
        if (state->computeInstances[i].gpuInstanceId == gpu_instance && state->computeInstances[i].id == id)
            return &state->computeInstances[i];
    return NULL;
}
static inline const struct compute_instance *find_mig_device(const struct board_state *state, nvmlDevice_t device) {
    return find_compute_instance(state, device->gpu_instance, device->compute_instance);
}
