/* Library life cycle, system-wide questions, finding devices, error texts, events. */
#include "board.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

EXPORT nvmlReturn_t nvmlInit_v2(void) { return boards_open(); }
EXPORT nvmlReturn_t nvmlInit(void) { return boards_open(); }
EXPORT nvmlReturn_t nvmlInitWithFlags(unsigned int flags) {
    nvmlReturn_t result = boards_open();
    (void)flags; /* there is always a board, and none to attach */
    return result;
}
EXPORT nvmlReturn_t nvmlShutdown(void) { return boards_close(); }

EXPORT const char *nvmlErrorString(nvmlReturn_t result) {
    switch (result) {
    case 0: return "Success";
    case 1: return "Uninitialized";
    case 2: return "Invalid Argument";
    case 3: return "Not Supported";
    case 4: return "Insufficient Permissions";
    case 5: return "Already Initialized";
    case 6: return "Not Found";
    case 7: return "Insufficient Size";
    case 8: return "Insufficient External Power";
    case 9: return "Driver Not Loaded";
    case 10: return "Timeout";
    case 11: return "Interrupt Request Issue";
    case 12: return "NVML Shared Library Not Found";
    case 13: return "Function Not Found";
    case 14: return "Corrupted infoROM";
    case 15: return "GPU is lost";
    case 16: return "GPU requires reset";
    case 17: return "The operating system has blocked the request";
    case 18: return "Driver/library version mismatch";
    case 19: return "In use by another client";
    case 20: return "Insufficient Memory";
    case 21: return "No data";
    case 22: return "ECC is not supported on this vGPU";
    case 23: return "Insufficient Resources";
    case 24: return "Frequency Not Supported";
    case 25: return "Argument Version Mismatch";
    case 26: return "Deprecated";
    case 27: return "Not Ready";
    case 28: return "GPU Not Found";
    case 29: return "Invalid State";
    case 30: return "Reset Type Not Supported";
    default: return "Unknown Error";
    }
}

/* Every board file carries the versions, so any board answers. */
static nvmlReturn_t system_text(size_t offset, char *to, unsigned int length) {
    if (!boards_are_open()) return NVML_ERROR_UNINITIALIZED;
    return copy_text((const char *)boards_at(0)->identity + offset, to, length);
}
EXPORT nvmlReturn_t nvmlSystemGetDriverVersion(char *version, unsigned int length) {
    return system_text(offsetof(struct board_identity, driverVersion), version, length);
}
EXPORT nvmlReturn_t nvmlSystemGetNVMLVersion(char *version, unsigned int length) {
    return system_text(offsetof(struct board_identity, nvmlVersion), version, length);
}
EXPORT nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int *version) {
    if (!version) return NVML_ERROR_INVALID_ARGUMENT;
    if (!boards_are_open()) return NVML_ERROR_UNINITIALIZED;
    *version = (int)boards_at(0)->identity->cudaDriverVersion;
    return NVML_SUCCESS;
}
EXPORT nvmlReturn_t nvmlSystemGetCudaDriverVersion(int *version) { return nvmlSystemGetCudaDriverVersion_v2(version); }
EXPORT nvmlReturn_t nvmlSystemGetDriverBranch(nvmlSystemDriverBranchInfo_v1_t *info, unsigned int length) {
    if (!info) return NVML_ERROR_INVALID_ARGUMENT;
    if (!boards_are_open()) return NVML_ERROR_UNINITIALIZED;
    if (info->version != STRUCT_VERSION(nvmlSystemDriverBranchInfo_v1_t, 1)) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    char branch[80];
    snprintf(branch, sizeof branch, "r%.3s_00", boards_at(0)->identity->driverVersion);
    return copy_text(branch, info->branch, length < sizeof info->branch ? length : sizeof info->branch);
}

EXPORT nvmlReturn_t nvmlSystemGetProcessName(unsigned int pid, char *name, unsigned int length) {
    if (!name || length == 0) return NVML_ERROR_INVALID_ARGUMENT;
    if (!boards_are_open()) return NVML_ERROR_UNINITIALIZED;
    struct board_state state;
    for (unsigned int i = 0; i < boards_count(); i++) {
        if (board_read(boards_at(i), &state) != NVML_SUCCESS) continue;
        for (unsigned int p = 0; p < state.processCount; p++)
            if (state.processes[p].pid == pid) {
                snprintf(name, length, "%s", state.processes[p].name);
                return NVML_SUCCESS;
            }
    }
    char path[64];
    snprintf(path, sizeof path, "/proc/%u/cmdline", pid);
    FILE *file = fopen(path, "r");
    if (!file) return errno == EACCES ? NVML_ERROR_NO_PERMISSION : NVML_ERROR_NOT_FOUND;
    size_t got = fread(name, 1, length - 1, file);
    name[got] = '\0';
    fclose(file);
    return NVML_SUCCESS;
}

EXPORT nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int *count) {
    if (!boards_are_open()) return NVML_ERROR_UNINITIALIZED;
    if (!count) return NVML_ERROR_INVALID_ARGUMENT;
    *count = boards_count();
    return NVML_SUCCESS;
}
EXPORT nvmlReturn_t nvmlDeviceGetCount(unsigned int *count) { return nvmlDeviceGetCount_v2(count); }

EXPORT nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *device) {
    if (!boards_are_open()) return NVML_ERROR_UNINITIALIZED;
    if (!device || index >= boards_count()) return NVML_ERROR_INVALID_ARGUMENT;
    *device = boards_at(index);
    return board_check(*device);
}
EXPORT nvmlReturn_t nvmlDeviceGetHandleByIndex(unsigned int index, nvmlDevice_t *device) {
    return nvmlDeviceGetHandleByIndex_v2(index, device);
}

EXPORT nvmlReturn_t nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *device) {
    if (!boards_are_open()) return NVML_ERROR_UNINITIALIZED;
    if (!uuid || !device) return NVML_ERROR_INVALID_ARGUMENT;
    for (unsigned int i = 0; i < boards_count(); i++)
        if (!strcmp(uuid, boards_at(i)->identity->uuid)) return nvmlDeviceGetHandleByIndex_v2(i, device);
    struct board_state state;
    for (unsigned int i = 0; i < boards_count(); i++) {
        if (board_read(boards_at(i), &state) != NVML_SUCCESS) continue;
        for (unsigned int m = 0; m < state.computeInstanceCount; m++)
            if (!strcmp(uuid, state.computeInstances[m].uuid)) {
                *device = mig_handle(boards_at(i), state.computeInstances[m].gpuInstanceId, state.computeInstances[m].id);
                return NVML_SUCCESS;
            }
    }
    return NVML_ERROR_NOT_FOUND;
}

/* Accepts `bus:device.function` with a domain of any width, or none, before it. */
EXPORT nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char *pciBusId, nvmlDevice_t *device) {
    if (!boards_are_open()) return NVML_ERROR_UNINITIALIZED;
    if (!pciBusId || !device) return NVML_ERROR_INVALID_ARGUMENT;
    unsigned int domain = 0, bus = 0, slot = 0, function = 0;
    if (sscanf(pciBusId, "%x:%x:%x.%x", &domain, &bus, &slot, &function) != 4 &&
        (domain = 0, sscanf(pciBusId, "%x:%x.%x", &bus, &slot, &function)) != 3)
        return NVML_ERROR_INVALID_ARGUMENT;
    for (unsigned int i = 0; i < boards_count(); i++) {
        const struct board_identity *identity = boards_at(i)->identity;
        if (identity->pciDomain == domain && identity->pciBus == bus && identity->pciDevice == slot && function == 0)
            return nvmlDeviceGetHandleByIndex_v2(i, device);
    }
    return NVML_ERROR_NOT_FOUND;
}
EXPORT nvmlReturn_t nvmlDeviceGetHandleByPciBusId(const char *pciBusId, nvmlDevice_t *device) {
    return nvmlDeviceGetHandleByPciBusId_v2(pciBusId, device);
}
EXPORT nvmlReturn_t nvmlDeviceGetHandleBySerial(const char *serial, nvmlDevice_t *device) {
    if (!boards_are_open()) return NVML_ERROR_UNINITIALIZED;
    return serial && device ? NVML_ERROR_NOT_FOUND : NVML_ERROR_INVALID_ARGUMENT; /* no board has a serial number */
}

EXPORT nvmlReturn_t nvmlUnitGetCount(unsigned int *count) {
    if (!boards_are_open()) return NVML_ERROR_UNINITIALIZED;
    if (!count) return NVML_ERROR_INVALID_ARGUMENT;
    *count = 0;
    return NVML_SUCCESS;
}
EXPORT nvmlReturn_t nvmlGetExcludedDeviceCount(unsigned int *count) { return nvmlUnitGetCount(count); }
