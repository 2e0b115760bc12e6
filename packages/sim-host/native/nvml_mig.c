/* MIG mode and MIG devices: what a board is divided into, and what one may ask of a part. */
#include "nvml_mig.h"
#include <stdio.h>
#include <string.h>

EXPORT nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned int *current, unsigned int *pending) {
    READ(device, current && pending, state);
    if (!device->identity->hasMig) return NVML_ERROR_NOT_SUPPORTED;
    *current = state.migCurrent;
    *pending = state.migPending;
    return NVML_SUCCESS;
}

/* The call succeeds where the mode was taken; whether it is active yet says `activation`. */
EXPORT nvmlReturn_t nvmlDeviceSetMigMode(nvmlDevice_t device, unsigned int mode, nvmlReturn_t *activation) {
    CHECK(device, activation && mode <= NVML_DEVICE_MIG_ENABLE);
    if (!device->identity->hasMig) return NVML_ERROR_NOT_SUPPORTED;
    struct request request = {.operation = OPERATION_SET_MIG_MODE, .first = mode};
    nvmlReturn_t result = board_request(device, &request);
    if (result == NVML_SUCCESS) *activation = request.value;
    return result;
}

EXPORT nvmlReturn_t nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t device, unsigned int *count) {
    CHECK(device, count);
    *count = device->identity->hasMig ? MAX_MIG_INSTANCES : 0;
    return NVML_SUCCESS;
}

EXPORT nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t device, unsigned int index, nvmlDevice_t *mig) {
    READ(device, mig, state);
    if (!device->identity->hasMig) return NVML_ERROR_NOT_SUPPORTED;
    if (index >= MAX_MIG_INSTANCES) return NVML_ERROR_INVALID_ARGUMENT;
    if (index >= state.computeInstanceCount) return NVML_ERROR_NOT_FOUND;
    *mig = mig_handle(device, state.computeInstances[index].gpuInstanceId, state.computeInstances[index].id);
    return NVML_SUCCESS;
}

EXPORT nvmlReturn_t nvmlDeviceIsMigDeviceHandle(nvmlDevice_t device, unsigned int *is_mig) {
    nvmlReturn_t result = device_check(device);
    if (result != NVML_SUCCESS) return result;
    if (!is_mig) return NVML_ERROR_INVALID_ARGUMENT;
    *is_mig = device->parent != NULL;
    return NVML_SUCCESS;
}

/* Questions that only a MIG device answers. */
#define READ_MIG(device, argument, state, mig)           \
    READ_ANY(device, argument, state, mig);              \
    if (!mig) return NVML_ERROR_NOT_SUPPORTED

EXPORT nvmlReturn_t nvmlDeviceGetDeviceHandleFromMigDeviceHandle(nvmlDevice_t device, nvmlDevice_t *board) {
    READ_MIG(device, board, state, mig);
    *board = device->parent;
    return NVML_SUCCESS;
}
EXPORT nvmlReturn_t nvmlDeviceGetGpuInstanceId(nvmlDevice_t device, unsigned int *id) {
    READ_MIG(device, id, state, mig);
    *id = mig->gpuInstanceId;
    return NVML_SUCCESS;
}
EXPORT nvmlReturn_t nvmlDeviceGetComputeInstanceId(nvmlDevice_t device, unsigned int *id) {
    READ_MIG(device, id, state, mig);
    *id = mig->id;
    return NVML_SUCCESS;
}

EXPORT nvmlReturn_t nvmlDeviceGetAttributes_v2(nvmlDevice_t device, nvmlDeviceAttributes_t *attributes) {
    READ_MIG(device, attributes, state, mig);
    const struct gpu_instance *instance = find_gpu_instance(&state, mig->gpuInstanceId);
    if (!instance) return NVML_ERROR_NOT_FOUND;
    const struct mig_profile *profile = &device->identity->migProfiles[instance->profile];
    *attributes = (nvmlDeviceAttributes_t){.multiprocessorCount = mig->smCount,
                                           .sharedCopyEngineCount = profile->copyEngines,
                                           .sharedDecoderCount = profile->decoders,
                                           .sharedJpegCount = profile->jpegs,
                                           .sharedOfaCount = profile->ofas,
                                           .gpuInstanceSliceCount = profile->sliceCount,
                                           .computeInstanceSliceCount = mig->sliceCount,
                                           .memorySizeMB = profile->memoryMb};
    return NVML_SUCCESS;
}
EXPORT nvmlReturn_t nvmlDeviceGetAttributes(nvmlDevice_t device, nvmlDeviceAttributes_t *attributes) {
    return nvmlDeviceGetAttributes_v2(device, attributes);
}

/* What boards and MIG devices both have: a name, a UUID, an index. */
EXPORT nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char *to, unsigned int length) {
    READ_ANY(device, to, state, mig);
    if (!mig) return copy_text(device->identity->name, to, length);
    const struct gpu_instance *instance = find_gpu_instance(&state, mig->gpuInstanceId);
    if (!instance) return NVML_ERROR_NOT_FOUND;
    char profile[40], name[160];
    compute_instance_name(&device->identity->migProfiles[instance->profile], mig->sliceCount, profile, sizeof profile);
    snprintf(name, sizeof name, "%s MIG %s", device->identity->name, profile);
    return copy_text(name, to, length);
}
EXPORT nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char *to, unsigned int length) {
    READ_ANY(device, to, state, mig);
    return copy_text(mig ? mig->uuid : device->identity->uuid, to, length);
}
EXPORT nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t device, unsigned int *index) {
    READ_ANY(device, index, state, mig);
    *index = mig ? (unsigned int)(mig - state.computeInstances) : device->index;
    return NVML_SUCCESS;
}
