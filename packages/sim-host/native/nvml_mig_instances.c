/* GPU instances and compute instances: profiles, placements, making and destroying them. */
#include "nvml_mig.h"
#include <string.h>

/*
 * Handles name an instance by its ids; whether it exists is looked up in the board's state at each call, so a handle that
 * outlives its instance is found out.
 */
struct gpu_instance_handle { nvmlDevice_t board; unsigned int id; };
struct compute_instance_handle { nvmlGpuInstance_t gpu_instance; unsigned int id; };
static struct gpu_instance_handle gpu_handles[MAX_DEVICES][GPU_INSTANCE_IDS];
static struct compute_instance_handle compute_handles[MAX_DEVICES][GPU_INSTANCE_IDS][COMPUTE_INSTANCE_IDS];

static nvmlGpuInstance_t gpu_instance_handle(nvmlDevice_t board, unsigned int id) {
    nvmlGpuInstance_t handle = &gpu_handles[board->index][id];
    *handle = (struct gpu_instance_handle){board, id};
    return handle;
}
static nvmlComputeInstance_t compute_instance_handle(nvmlGpuInstance_t gpu_instance, unsigned int id) {
    nvmlComputeInstance_t handle = &compute_handles[gpu_instance->board->index][gpu_instance->id][id];
    *handle = (struct compute_instance_handle){gpu_instance, id};
    return handle;
}

static int is_gpu_handle(nvmlGpuInstance_t handle) {
    return is_element(handle, gpu_handles, sizeof gpu_handles / sizeof **gpu_handles, sizeof **gpu_handles);
}
static int is_compute_handle(nvmlComputeInstance_t handle) {
    return is_element(handle, compute_handles, sizeof compute_handles / sizeof ***compute_handles, sizeof ***compute_handles) &&
           handle->gpu_instance;
}

/* A board in MIG mode, and its state. */
#define READ_DIVIDED(device, argument, state)                                  \
    READ(device, argument, state);                                             \
    if (!state.migCurrent) return NVML_ERROR_NOT_SUPPORTED

#define READ_GPU_INSTANCE(handle, argument, state, instance, profile)                                       \
    if (!boards_are_open()) return NVML_ERROR_UNINITIALIZED;                                                \
    if (!is_gpu_handle(handle)) return NVML_ERROR_INVALID_ARGUMENT;                                         \
    READ(handle->board, argument, state);                                                                   \
    const struct gpu_instance *instance = find_gpu_instance(&state, handle->id);                            \
    if (!instance) return NVML_ERROR_NOT_FOUND;                                                             \
    const struct mig_profile *profile = &handle->board->identity->migProfiles[instance->profile]

static const struct mig_profile *profile_by(const struct board_identity *identity, int by_number, unsigned int value) {
    for (unsigned int i = 0; i < identity->migProfileCount; i++) {
        const struct mig_profile *profile = &identity->migProfiles[i];
        if ((by_number ? profile->nvmlProfile : profile->id) == value) return profile;
    }
    return NULL;
}

/* Profiles are told whether MIG is on or not. Version 1 of the structure has no version word; 2 and 3 carry theirs. */
static nvmlReturn_t tell_profile(const struct mig_profile *profile, nvmlGpuInstanceProfileInfo_v2_t *info) {
    if (info->version == STRUCT_VERSION(nvmlGpuInstanceProfileInfo_v3_t, 3)) {
        nvmlGpuInstanceProfileInfo_v3_t *third = (void *)info;
        *third = (nvmlGpuInstanceProfileInfo_v3_t){.version = info->version, .id = profile->id,
            .sliceCount = profile->sliceCount, .instanceCount = profile->instanceCount,
            .multiprocessorCount = profile->smCount, .copyEngineCount = profile->copyEngines,
            .decoderCount = profile->decoders, .jpegCount = profile->jpegs, .ofaCount = profile->ofas,
            .memorySizeMB = profile->memoryMb};
        snprintf(third->name, sizeof third->name, "MIG %s", profile->name);
        return NVML_SUCCESS;
    }
    if (info->version != STRUCT_VERSION(nvmlGpuInstanceProfileInfo_v2_t, 2)) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    *info = (nvmlGpuInstanceProfileInfo_v2_t){.version = info->version, .id = profile->id,
        .sliceCount = profile->sliceCount, .instanceCount = profile->instanceCount,
        .multiprocessorCount = profile->smCount, .copyEngineCount = profile->copyEngines,
        .decoderCount = profile->decoders, .jpegCount = profile->jpegs, .ofaCount = profile->ofas,
        .memorySizeMB = profile->memoryMb};
    snprintf(info->name, sizeof info->name, "MIG %s", profile->name);
    return NVML_SUCCESS;
}
EXPORT nvmlReturn_t nvmlDeviceGetGpuInstanceProfileInfoV(nvmlDevice_t device, unsigned int number,
                                                         nvmlGpuInstanceProfileInfo_v2_t *info) {
    CHECK(device, info && number < NVML_GPU_INSTANCE_PROFILE_COUNT);
    const struct mig_profile *profile = profile_by(device->identity, 1, number);
    return profile ? tell_profile(profile, info) : NVML_ERROR_NOT_SUPPORTED;
}
EXPORT nvmlReturn_t nvmlDeviceGetGpuInstanceProfileInfoByIdV(nvmlDevice_t device, unsigned int id,
                                                             nvmlGpuInstanceProfileInfo_v2_t *info) {
    CHECK(device, info);
    const struct mig_profile *profile = profile_by(device->identity, 0, id);
    return profile ? tell_profile(profile, info) : NVML_ERROR_NOT_SUPPORTED;
}
EXPORT nvmlReturn_t nvmlDeviceGetGpuInstanceProfileInfo(nvmlDevice_t device, unsigned int number,
                                                        nvmlGpuInstanceProfileInfo_t *info) {
    CHECK(device, info && number < NVML_GPU_INSTANCE_PROFILE_COUNT);
    const struct mig_profile *profile = profile_by(device->identity, 1, number);
    if (!profile) return NVML_ERROR_NOT_SUPPORTED;
    *info = (nvmlGpuInstanceProfileInfo_t){.id = profile->id, .sliceCount = profile->sliceCount,
        .instanceCount = profile->instanceCount, .multiprocessorCount = profile->smCount,
        .copyEngineCount = profile->copyEngines, .decoderCount = profile->decoders, .jpegCount = profile->jpegs,
        .ofaCount = profile->ofas, .memorySizeMB = profile->memoryMb};
    return NVML_SUCCESS;
}

static int placement_is_free(const struct board_identity *identity, const struct board_state *state, unsigned int start,
                             unsigned int size) {
    for (unsigned int i = 0; i < state->gpuInstanceCount; i++) {
        unsigned int other = state->gpuInstances[i].start;
        unsigned int other_size = identity->migProfiles[state->gpuInstances[i].profile].memorySlices;
        if (start < other + other_size && other < start + size) return 0;
    }
    return 1;
}

/* All placements of a profile, taken or not; without an array, their number. */
EXPORT nvmlReturn_t nvmlDeviceGetGpuInstancePossiblePlacements_v2(nvmlDevice_t device, unsigned int profileId,
                                                                  nvmlGpuInstancePlacement_t *placements, unsigned int *count) {
    READ_DIVIDED(device, count, state);
    const struct mig_profile *profile = profile_by(device->identity, 0, profileId);
    if (!profile) return NVML_ERROR_INVALID_ARGUMENT;
    unsigned int room = *count;
    *count = profile->placementCount;
    if (!placements) return NVML_SUCCESS;
    if (room < profile->placementCount) return NVML_ERROR_INSUFFICIENT_SIZE;
    for (unsigned int i = 0; i < profile->placementCount; i++)
        placements[i] = (nvmlGpuInstancePlacement_t){profile->placements[i], profile->memorySlices};
    return NVML_SUCCESS;
}
EXPORT nvmlReturn_t nvmlDeviceGetGpuInstancePossiblePlacements(nvmlDevice_t device, unsigned int profileId,
                                                               nvmlGpuInstancePlacement_t *placements, unsigned int *count) {
    return nvmlDeviceGetGpuInstancePossiblePlacements_v2(device, profileId, placements, count);
}

/* How many more instances of a profile there is room for. */
EXPORT nvmlReturn_t nvmlDeviceGetGpuInstanceRemainingCapacity(nvmlDevice_t device, unsigned int profileId, unsigned int *count) {
    READ_DIVIDED(device, count, state);
    const struct mig_profile *profile = profile_by(device->identity, 0, profileId);
    if (!profile) return NVML_ERROR_INVALID_ARGUMENT;
    *count = 0;
    for (unsigned int i = 0; i < profile->placementCount; i++)
        *count += placement_is_free(device->identity, &state, profile->placements[i], profile->memorySlices) ? 1 : 0;
    return NVML_SUCCESS;
}

static nvmlReturn_t create_gpu_instance(nvmlDevice_t device, unsigned int profileId, unsigned int start, nvmlGpuInstance_t *made) {
    struct request request = {.operation = OPERATION_CREATE_GPU_INSTANCE, .first = profileId, .second = start};
    nvmlReturn_t result = board_request(device, &request);
    if (result == NVML_SUCCESS) *made = gpu_instance_handle(device, request.value);
    return result;
}
EXPORT nvmlReturn_t nvmlDeviceCreateGpuInstance(nvmlDevice_t device, unsigned int profileId, nvmlGpuInstance_t *made) {
    CHECK(device, made);
    return create_gpu_instance(device, profileId, ANY_PLACEMENT, made);
}
EXPORT nvmlReturn_t nvmlDeviceCreateGpuInstanceWithPlacement(nvmlDevice_t device, unsigned int profileId,
                                                             const nvmlGpuInstancePlacement_t *placement, nvmlGpuInstance_t *made) {
    CHECK(device, made && placement);
    return create_gpu_instance(device, profileId, placement->start, made);
}
EXPORT nvmlReturn_t nvmlGpuInstanceDestroy(nvmlGpuInstance_t handle) {
    READ_GPU_INSTANCE(handle, 1, state, instance, profile);
    (void)profile;
    return board_request(handle->board, &(struct request){.operation = OPERATION_DESTROY_GPU_INSTANCE, .first = instance->id});
}

/* The array has room for as many instances as the profile can have. */
EXPORT nvmlReturn_t nvmlDeviceGetGpuInstances(nvmlDevice_t device, unsigned int profileId, nvmlGpuInstance_t *instances,
                                              unsigned int *count) {
    READ_DIVIDED(device, instances && count, state);
    if (!profile_by(device->identity, 0, profileId)) return NVML_ERROR_INVALID_ARGUMENT;
    *count = 0;
    for (unsigned int i = 0; i < state.gpuInstanceCount; i++)
        if (device->identity->migProfiles[state.gpuInstances[i].profile].id == profileId)
            instances[(*count)++] = gpu_instance_handle(device, state.gpuInstances[i].id);
    return NVML_SUCCESS;
}
EXPORT nvmlReturn_t nvmlDeviceGetGpuInstanceById(nvmlDevice_t device, unsigned int id, nvmlGpuInstance_t *handle) {
    READ_DIVIDED(device, handle, state);
    if (!find_gpu_instance(&state, id)) return NVML_ERROR_NOT_FOUND;
    *handle = gpu_instance_handle(device, id);
    return NVML_SUCCESS;
}
EXPORT nvmlReturn_t nvmlGpuInstanceGetInfo(nvmlGpuInstance_t handle, nvmlGpuInstanceInfo_t *info) {
    READ_GPU_INSTANCE(handle, info, state, instance, profile);
    *info = (nvmlGpuInstanceInfo_t){handle->board, instance->id, profile->id, {instance->start, profile->memorySlices}};
    return NVML_SUCCESS;
}

/* Compute instances: a GPU instance's slices in contiguous runs. */
static unsigned int free_compute_placements(const struct gpu_instance *instance, const struct mig_profile *profile,
                                            unsigned int slices) {
    unsigned int count = 0, mask = (1u << slices) - 1;
    for (unsigned int start = 0; start + slices <= profile->sliceCount; start += slices)
        count += !(instance->takenSlices & mask << start);
    return count;
}
static nvmlComputeInstanceProfileInfo_t compute_profile(const struct mig_profile *profile, unsigned int id) {
    unsigned int slices = compute_profile_slices[id];
    return (nvmlComputeInstanceProfileInfo_t){.id = id, .sliceCount = slices,
        .instanceCount = profile->sliceCount / slices, .multiprocessorCount = compute_sms(profile, slices),
        .sharedCopyEngineCount = profile->copyEngines, .sharedDecoderCount = profile->decoders,
        .sharedJpegCount = profile->jpegs, .sharedOfaCount = profile->ofas};
}
#define CHECK_COMPUTE_PROFILE(profile, id)                                                            \
    if (id >= COMPUTE_PROFILES || !compute_size_fits(profile, compute_profile_slices[id])) return NVML_ERROR_NOT_SUPPORTED

EXPORT nvmlReturn_t nvmlGpuInstanceGetComputeInstanceProfileInfo(nvmlGpuInstance_t handle, unsigned int number,
                                                                 unsigned int engines, nvmlComputeInstanceProfileInfo_t *info) {
    READ_GPU_INSTANCE(handle, info && number < NVML_COMPUTE_INSTANCE_PROFILE_COUNT &&
                                  engines == NVML_COMPUTE_INSTANCE_ENGINE_PROFILE_SHARED, state, instance, profile);
    CHECK_COMPUTE_PROFILE(profile, number);
    *info = compute_profile(profile, number);
    return NVML_SUCCESS;
}
EXPORT nvmlReturn_t nvmlGpuInstanceGetComputeInstanceProfileInfoV(nvmlGpuInstance_t handle, unsigned int number,
                                                                  unsigned int engines, nvmlComputeInstanceProfileInfo_v2_t *info) {
    READ_GPU_INSTANCE(handle, info && number < NVML_COMPUTE_INSTANCE_PROFILE_COUNT &&
                                  engines == NVML_COMPUTE_INSTANCE_ENGINE_PROFILE_SHARED, state, instance, profile);
    int third = info->version == STRUCT_VERSION(nvmlComputeInstanceProfileInfo_v3_t, 3);
    if (!third && info->version != STRUCT_VERSION(nvmlComputeInstanceProfileInfo_v2_t, 2))
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    CHECK_COMPUTE_PROFILE(profile, number);
    nvmlComputeInstanceProfileInfo_t first = compute_profile(profile, number);
    memcpy(&info->id, &first, sizeof first);
    char name[40];
    compute_instance_name(profile, first.sliceCount, name, sizeof name);
    snprintf(info->name, sizeof info->name, "MIG %s", name);
    if (third) ((nvmlComputeInstanceProfileInfo_v3_t *)(void *)info)->capabilities = 0;
    return NVML_SUCCESS;
}

EXPORT nvmlReturn_t nvmlGpuInstanceGetComputeInstanceRemainingCapacity(nvmlGpuInstance_t handle, unsigned int id,
                                                                       unsigned int *count) {
    READ_GPU_INSTANCE(handle, count, state, instance, profile);
    CHECK_COMPUTE_PROFILE(profile, id);
    *count = free_compute_placements(instance, profile, compute_profile_slices[id]);
    return NVML_SUCCESS;
}
EXPORT nvmlReturn_t nvmlGpuInstanceGetComputeInstancePossiblePlacements(nvmlGpuInstance_t handle, unsigned int id,
                                                                        nvmlComputeInstancePlacement_t *placements,
                                                                        unsigned int *count) {
    READ_GPU_INSTANCE(handle, count, state, instance, profile);
    CHECK_COMPUTE_PROFILE(profile, id);
    unsigned int slices = compute_profile_slices[id], room = *count;
    *count = profile->sliceCount / slices;
    if (!placements) return NVML_SUCCESS;
    if (room < *count) return NVML_ERROR_INSUFFICIENT_SIZE;
    for (unsigned int i = 0; i < *count; i++) placements[i] = (nvmlComputeInstancePlacement_t){i * slices, slices};
    return NVML_SUCCESS;
}

static nvmlReturn_t create_compute_instance(nvmlGpuInstance_t handle, unsigned int id, unsigned int start,
                                            nvmlComputeInstance_t *made) {
    READ_GPU_INSTANCE(handle, made, state, instance, profile);
    if (id >= COMPUTE_PROFILES || !compute_size_fits(profile, compute_profile_slices[id])) return NVML_ERROR_INVALID_ARGUMENT;
    struct request request = {.operation = OPERATION_CREATE_COMPUTE_INSTANCE, .first = instance->id,
                              .second = compute_profile_slices[id], .third = start};
    nvmlReturn_t result = board_request(handle->board, &request);
    if (result == NVML_SUCCESS) *made = compute_instance_handle(handle, request.value);
    return result;
}
EXPORT nvmlReturn_t nvmlGpuInstanceCreateComputeInstance(nvmlGpuInstance_t handle, unsigned int id, nvmlComputeInstance_t *made) {
    return create_compute_instance(handle, id, ANY_PLACEMENT, made);
}
EXPORT nvmlReturn_t nvmlGpuInstanceCreateComputeInstanceWithPlacement(nvmlGpuInstance_t handle, unsigned int id,
                                                                      const nvmlComputeInstancePlacement_t *placement,
                                                                      nvmlComputeInstance_t *made) {
    if (boards_are_open() && !placement) return NVML_ERROR_INVALID_ARGUMENT;
    return create_compute_instance(handle, id, placement ? placement->start : 0, made);
}
EXPORT nvmlReturn_t nvmlGpuInstanceGetComputeInstances(nvmlGpuInstance_t handle, unsigned int id,
                                                       nvmlComputeInstance_t *instances, unsigned int *count) {
    READ_GPU_INSTANCE(handle, instances && count, state, instance, profile);
    if (id >= COMPUTE_PROFILES || !compute_size_fits(profile, compute_profile_slices[id])) return NVML_ERROR_INVALID_ARGUMENT;
    *count = 0;
    for (unsigned int i = 0; i < state.computeInstanceCount; i++) {
        const struct compute_instance *each = &state.computeInstances[i];
        if (each->gpuInstanceId == instance->id && each->sliceCount == compute_profile_slices[id])
            instances[(*count)++] = compute_instance_handle(handle, each->id);
    }
    return NVML_SUCCESS;
}
EXPORT nvmlReturn_t nvmlGpuInstanceGetComputeInstanceById(nvmlGpuInstance_t handle, unsigned int id, nvmlComputeInstance_t *found) {
    READ_GPU_INSTANCE(handle, found, state, instance, profile);
    (void)profile;
    if (!find_compute_instance(&state, instance->id, id)) return NVML_ERROR_NOT_FOUND;
    *found = compute_instance_handle(handle, id);
    return NVML_SUCCESS;
}

EXPORT nvmlReturn_t nvmlComputeInstanceDestroy(nvmlComputeInstance_t handle) {
    if (!boards_are_open()) return NVML_ERROR_UNINITIALIZED;
    if (!is_compute_handle(handle)) return NVML_ERROR_INVALID_ARGUMENT;
    nvmlGpuInstance_t in = handle->gpu_instance;
    struct request request = {.operation = OPERATION_DESTROY_COMPUTE_INSTANCE, .first = in->id, .second = handle->id};
    return board_request(in->board, &request);
}
EXPORT nvmlReturn_t nvmlComputeInstanceGetInfo_v2(nvmlComputeInstance_t handle, nvmlComputeInstanceInfo_t *info) {
    if (!boards_are_open()) return NVML_ERROR_UNINITIALIZED;
    if (!is_compute_handle(handle)) return NVML_ERROR_INVALID_ARGUMENT;
    nvmlGpuInstance_t in = handle->gpu_instance;
    READ(in->board, info, state);
    const struct compute_instance *instance = find_compute_instance(&state, in->id, handle->id);
    if (!instance) return NVML_ERROR_NOT_FOUND;
    unsigned int id = 0;
    while (compute_profile_slices[id] != instance->sliceCount) id++;
    *info = (nvmlComputeInstanceInfo_t){in->board, in, instance->id, id, {instance->start, instance->sliceCount}};
    return NVML_SUCCESS;
}
EXPORT nvmlReturn_t nvmlComputeInstanceGetInfo(nvmlComputeInstance_t handle, nvmlComputeInstanceInfo_t *info) {
    return nvmlComputeInstanceGetInfo_v2(handle, info);
}
