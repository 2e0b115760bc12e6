/* Event sets: what the simulator writes into the ring of a board's file is handed out in its order. */
#include "board.h"
#include "nvml_answers.h"
#include <stdlib.h>
#include <time.h>

#define SUPPORTED_EVENTS (EVENT_SINGLE_BIT_ECC | EVENT_DOUBLE_BIT_ECC | EVENT_PSTATE | EVENT_XID | EVENT_CLOCK)
#define WAIT_MS 10

struct event_set {
    unsigned long long types[MAX_DEVICES];
    uint32_t seen[MAX_DEVICES]; /* events of the board that were handed out, or had happened before it was registered */
};

static const struct board_events *events_of(const struct device *device) {
    return (const void *)(device->file + BOARD_EVENTS_OFFSET);
}

static unsigned long long supported(const struct device *device) {
    return device->identity->hasEcc ? SUPPORTED_EVENTS : SUPPORTED_EVENTS & ~(EVENT_SINGLE_BIT_ECC | EVENT_DOUBLE_BIT_ECC);
}

EXPORT nvmlReturn_t nvmlEventSetCreate(nvmlEventSet_t *set) {
    if (!boards_are_open()) return NVML_ERROR_UNINITIALIZED;
    if (!set) return NVML_ERROR_INVALID_ARGUMENT;
    *set = calloc(1, sizeof **set);
    return *set ? NVML_SUCCESS : NVML_ERROR_MEMORY;
}

EXPORT nvmlReturn_t nvmlEventSetFree(nvmlEventSet_t set) {
    if (!boards_are_open()) return NVML_ERROR_UNINITIALIZED;
    if (!set) return NVML_ERROR_INVALID_ARGUMENT;
    free(set);
    return NVML_SUCCESS;
}

EXPORT nvmlReturn_t nvmlDeviceGetSupportedEventTypes(nvmlDevice_t device, unsigned long long *types) {
    nvmlReturn_t result = board_check(device);
    if (result != NVML_SUCCESS) return result;
    if (!types) return NVML_ERROR_INVALID_ARGUMENT;
    *types = supported(device);
    return NVML_SUCCESS;
}

EXPORT nvmlReturn_t nvmlDeviceRegisterEvents(nvmlDevice_t device, unsigned long long types, nvmlEventSet_t set) {
    nvmlReturn_t result = board_check(device);
    if (result != NVML_SUCCESS) return result;
    if (!set) return NVML_ERROR_INVALID_ARGUMENT;
    if (types & ~supported(device)) return NVML_ERROR_NOT_SUPPORTED;
    if (!set->types[device->index]) set->seen[device->index] = __atomic_load_n(&events_of(device)->count, __ATOMIC_ACQUIRE);
    set->types[device->index] |= types;
    return NVML_SUCCESS;
}

/* The next event of one board that was asked for; what the ring has forgotten is skipped. */
static int next_event(nvmlEventSet_t set, struct device *device, nvmlEventData_t *data) {
    const struct board_events *events = events_of(device);
    uint32_t *seen = &set->seen[device->index];
    uint32_t count = __atomic_load_n(&events->count, __ATOMIC_ACQUIRE);
    if (count - *seen > EVENT_SLOTS) *seen = count - EVENT_SLOTS;
    while (*seen != count) {
        struct board_event event = events->events[(*seen)++ % EVENT_SLOTS];
        if (!(event.type & set->types[device->index])) continue;
        *data = (nvmlEventData_t){.device = device, .eventType = event.type, .eventData = event.data,
                                  .gpuInstanceId = NO_INSTANCE, .computeInstanceId = NO_INSTANCE};
        return 1;
    }
    return 0;
}

EXPORT nvmlReturn_t nvmlEventSetWait_v2(nvmlEventSet_t set, nvmlEventData_t *data, unsigned int timeoutMs) {
    if (!boards_are_open()) return NVML_ERROR_UNINITIALIZED;
    if (!set || !data) return NVML_ERROR_INVALID_ARGUMENT;
    for (unsigned int waited = 0;; waited += WAIT_MS) {
        nvmlReturn_t lost = NVML_SUCCESS;
        for (unsigned int i = 0; i < boards_count(); i++) {
            struct device *device = boards_at(i);
            if (!set->types[i]) continue;
            if (next_event(set, device, data)) return NVML_SUCCESS;
            if (board_check(device) != NVML_SUCCESS) lost = NVML_ERROR_GPU_IS_LOST;
        }
        if (lost != NVML_SUCCESS) return lost;
        if (waited >= timeoutMs) return NVML_ERROR_TIMEOUT;
        unsigned int rest = timeoutMs - waited < WAIT_MS ? timeoutMs - waited : WAIT_MS;
        nanosleep(&(struct timespec){0, (long)rest * 1000000}, NULL);
    }
}

EXPORT nvmlReturn_t nvmlEventSetWait(nvmlEventSet_t set, nvmlEventData_t *data, unsigned int timeoutMs) {
    return nvmlEventSetWait_v2(set, data, timeoutMs);
}
