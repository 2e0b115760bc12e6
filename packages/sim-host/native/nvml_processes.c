/* Who runs on a board. */
#include "nvml_answers.h"

/* On a MIG device only its own processes count; NULL stands for the board. */
static int belongs(const struct board_process *process, int only_mps, const struct compute_instance *mig) {
    if (only_mps && !process->isMpsClient) return 0;
    return !mig || (process->gpuInstanceId == mig->gpuInstanceId && process->computeInstanceId == mig->id);
}
static unsigned int count_of(const struct board_state *state, int only_mps, const struct compute_instance *mig) {
    unsigned int count = 0;
    for (unsigned int i = 0; i < state->processCount; i++) count += belongs(&state->processes[i], only_mps, mig) ? 1 : 0;
    return count;
}

static nvmlReturn_t running(nvmlDevice_t device, int only_mps, unsigned int *count, nvmlProcessInfo_t *infos) {
    READ_ANY(device, count, state, mig);
    unsigned int room = *count;
    *count = count_of(&state, only_mps, mig);
    if (room < *count) return NVML_ERROR_INSUFFICIENT_SIZE;
    if (*count && !infos) return NVML_ERROR_INVALID_ARGUMENT;
    for (unsigned int i = 0, to = 0; i < state.processCount; i++) {
        const struct board_process *process = &state.processes[i];
        if (!belongs(process, only_mps, mig)) continue;
        infos[to++] = (nvmlProcessInfo_t){process->pid, process->usedBytes, process->gpuInstanceId, process->computeInstanceId};
    }
    return NVML_SUCCESS;
}

#define RUNNING(name, only_mps)                                                                       \
    EXPORT nvmlReturn_t name(nvmlDevice_t device, unsigned int *count, nvmlProcessInfo_t *infos) {    \
        return running(device, only_mps, count, infos);                                               \
    }
RUNNING(nvmlDeviceGetComputeRunningProcesses_v3, 0)
RUNNING(nvmlDeviceGetComputeRunningProcesses_v2, 0)
RUNNING(nvmlDeviceGetMPSComputeRunningProcesses_v3, 1)
RUNNING(nvmlDeviceGetMPSComputeRunningProcesses_v2, 1)

/* The first version's entries are shorter. */
static nvmlReturn_t running_v1(nvmlDevice_t device, int only_mps, unsigned int *count, nvmlProcessInfo_v1_t *infos) {
    if (!count) {
        nvmlReturn_t checked = device_check(device);
        return checked == NVML_SUCCESS ? NVML_ERROR_INVALID_ARGUMENT : checked;
    }
    nvmlProcessInfo_t long_infos[MAX_PROCESSES];
    unsigned int room = *count, found = MAX_PROCESSES;
    nvmlReturn_t result = running(device, only_mps, &found, long_infos);
    if (result != NVML_SUCCESS) return result;
    *count = found;
    if (room < found) return NVML_ERROR_INSUFFICIENT_SIZE;
    if (found && !infos) return NVML_ERROR_INVALID_ARGUMENT;
    for (unsigned int i = 0; i < found; i++) infos[i] = (nvmlProcessInfo_v1_t){long_infos[i].pid, long_infos[i].usedGpuMemory};
    return NVML_SUCCESS;
}
EXPORT nvmlReturn_t nvmlDeviceGetComputeRunningProcesses(nvmlDevice_t device, unsigned int *count, nvmlProcessInfo_v1_t *infos) {
    return running_v1(device, 0, count, infos);
}
EXPORT nvmlReturn_t nvmlDeviceGetMPSComputeRunningProcesses(nvmlDevice_t device, unsigned int *count, nvmlProcessInfo_v1_t *infos) {
    return running_v1(device, 1, count, infos);
}

#define NO_GRAPHICS(name, type)                                                           \
    EXPORT nvmlReturn_t name(nvmlDevice_t device, unsigned int *count, type *infos) {     \
        (void)infos;                                                                      \
        READ_ANY(device, count, state, mig);                                              \
        (void)mig;                                                                        \
        *count = 0;                                                                       \
        return NVML_SUCCESS;                                                              \
    }
NO_GRAPHICS(nvmlDeviceGetGraphicsRunningProcesses_v3, nvmlProcessInfo_t)
NO_GRAPHICS(nvmlDeviceGetGraphicsRunningProcesses_v2, nvmlProcessInfo_t)
NO_GRAPHICS(nvmlDeviceGetGraphicsRunningProcesses, nvmlProcessInfo_v1_t)

/* Modes: 0 compute, 1 graphics, 2 MPS compute. */
EXPORT nvmlReturn_t nvmlDeviceGetRunningProcessDetailList(nvmlDevice_t device, nvmlProcessDetailList_v1_t *list) {
    READ_ANY(device, list && list->mode <= 2, state, mig);
    if (list->version != STRUCT_VERSION(nvmlProcessDetailList_v1_t, 1)) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    unsigned int room = list->numProcArrayEntries, found = list->mode == 1 ? 0 : count_of(&state, list->mode == 2, mig);
    list->numProcArrayEntries = found;
    if (room < found) return NVML_ERROR_INSUFFICIENT_SIZE;
    if (found && !list->procArray) return NVML_ERROR_INVALID_ARGUMENT;
    for (unsigned int i = 0, to = 0; found && i < state.processCount; i++) {
        const struct board_process *process = &state.processes[i];
        if (!belongs(process, list->mode == 2, mig)) continue;
        list->procArray[to++] =
            (nvmlProcessDetail_v1_t){process->pid, process->usedBytes, process->gpuInstanceId, process->computeInstanceId, 0};
    }
    return NVML_SUCCESS;
}

/* One sample per running process, unless it is older than what the caller has seen. */
EXPORT nvmlReturn_t nvmlDeviceGetProcessUtilization(nvmlDevice_t device, nvmlProcessUtilizationSample_t *samples,
                                                    unsigned int *count, unsigned long long lastSeenUs) {
    READ(device, count, state);
    if (!state.processCount || state.timestampUs <= lastSeenUs) {
        *count = 0;
        return NVML_ERROR_NOT_FOUND;
    }
    unsigned int room = *count;
    *count = state.processCount;
    if (!samples || room < state.processCount) return NVML_ERROR_INSUFFICIENT_SIZE;
    for (unsigned int i = 0; i < state.processCount; i++) {
        const struct board_process *process = &state.processes[i];
        samples[i] = (nvmlProcessUtilizationSample_t){process->pid, state.timestampUs, process->smUtilPercent,
                                                      process->memUtilPercent, 0, 0};
    }
    return NVML_SUCCESS;
}
EXPORT nvmlReturn_t nvmlDeviceGetProcessesUtilizationInfo(nvmlDevice_t device, nvmlProcessesUtilizationInfo_v1_t *info) {
    READ(device, info, state);
    if (info->version != STRUCT_VERSION(nvmlProcessesUtilizationInfo_v1_t, 1)) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    unsigned int room = info->processSamplesCount;
    if (!state.processCount || state.timestampUs <= info->lastSeenTimeStamp) {
        info->processSamplesCount = 0;
        return NVML_ERROR_NOT_FOUND;
    }
    info->processSamplesCount = state.processCount;
    if (!info->procUtilArray || room < state.processCount) return NVML_ERROR_INSUFFICIENT_SIZE;
    for (unsigned int i = 0; i < state.processCount; i++) {
        const struct board_process *process = &state.processes[i];
        info->procUtilArray[i] = (nvmlProcessUtilizationInfo_v1_t){
            .timeStamp = state.timestampUs, .pid = process->pid, .smUtil = process->smUtilPercent, .memUtil = process->memUtilPercent};
    }
    info->lastSeenTimeStamp = state.timestampUs;
    return NVML_SUCCESS;
}
