/* What a board does: power, clocks, utilisation, memory, temperature. */
#include "nvml_answers.h"
#include <string.h>

#define EVENT_REASON_GPU_IDLE 0x1ull
#define EVENT_REASON_APPLICATION_CLOCKS 0x2ull
#define EVENT_REASON_SW_POWER_CAP 0x4ull
#define EVENT_REASON_HW_SLOWDOWN 0x8ull
#define EVENT_REASON_SW_THERMAL 0x20ull
#define EVENT_REASON_HW_THERMAL 0x40ull

STATE_NUMBER(nvmlDeviceGetPowerUsage, powerAverageMw)
STATE_NUMBER(nvmlDeviceGetPowerManagementLimit, powerLimitMw)
STATE_NUMBER(nvmlDeviceGetEnforcedPowerLimit, powerLimitMw)
STATE_NUMBER(nvmlDeviceGetFanSpeed, fanPercent)
STATE_NUMBER(nvmlDeviceGetPerformanceState, pstate)
STATE_NUMBER(nvmlDeviceGetPowerState, pstate)
STATE_NUMBER(nvmlDeviceGetComputeMode, computeMode)
STATE_NUMBER(nvmlDeviceGetPersistenceMode, persistenceMode)
STATE_NUMBER(nvmlDeviceGetCurrPcieLinkGeneration, pcieGen)

EXPORT nvmlReturn_t nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t device, unsigned long long *mj) {
    READ(device, mj, state);
    if (state.energyMj == NOT_READ_64) return NVML_ERROR_UNKNOWN;
    *mj = state.energyMj;
    return NVML_SUCCESS;
}

/* Of a board, or of the GPU instance that a MIG device is in: its compute instances share the memory. */
static nvmlMemory_v2_t memory_of(nvmlDevice_t device, const struct board_state *state, const struct compute_instance *mig) {
    nvmlMemory_v2_t memory = {.total = device->identity->memoryTotalBytes,
                              .reserved = device->identity->memoryReservedBytes};
    memory.used = state->memoryUsedBytes - memory.reserved;
    const struct gpu_instance *instance = mig ? find_gpu_instance(state, mig->gpuInstanceId) : NULL;
    if (instance) {
        memory.total = device->identity->migProfiles[instance->profile].memoryMb << 20;
        memory.reserved = instance->reservedBytes;
        memory.used = instance->usedBytes;
    }
    memory.free = memory.total - memory.reserved - memory.used;
    return memory;
}
EXPORT nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory) {
    READ_ANY(device, memory, state, mig);
    if (!mig && state.memoryUsedBytes == NOT_READ_64) return NVML_ERROR_UNKNOWN;
    nvmlMemory_v2_t now = memory_of(device, &state, mig);
    /* This version counts what the driver reserves as used. */
    *memory = (nvmlMemory_t){.total = now.total, .free = now.free, .used = now.used + now.reserved};
    return NVML_SUCCESS;
}
EXPORT nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t *memory) {
    READ_ANY(device, memory, state, mig);
    if (memory->version != STRUCT_VERSION(nvmlMemory_v2_t, 2)) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    if (!mig && state.memoryUsedBytes == NOT_READ_64) return NVML_ERROR_UNKNOWN;
    unsigned int version = memory->version;
    *memory = memory_of(device, &state, mig);
    memory->version = version;
    return NVML_SUCCESS;
}
EXPORT nvmlReturn_t nvmlDeviceGetBAR1MemoryInfo(nvmlDevice_t device, nvmlBAR1Memory_t *bar1) {
    READ(device, bar1, state);
    bar1->bar1Total = device->identity->bar1TotalBytes;
    bar1->bar1Used = (1ull + 2 * state.processCount) << 20; /* a driver page and two per context */
    bar1->bar1Free = bar1->bar1Total - bar1->bar1Used;
    return NVML_SUCCESS;
}

EXPORT nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t *utilization) {
    READ(device, utilization, state);
    if (whether_told(state.smUtilPercent) != NVML_SUCCESS) return whether_told(state.smUtilPercent);
    utilization->gpu = state.smUtilPercent;
    utilization->memory = state.memUtilPercent;
    return NVML_SUCCESS;
}

/* The media engines are never used. */
static nvmlReturn_t idle_engine(nvmlDevice_t device, unsigned int *utilization, unsigned int *periodUs) {
    CHECK(device, utilization && periodUs);
    *utilization = 0;
    *periodUs = 167000;
    return NVML_SUCCESS;
}
EXPORT nvmlReturn_t nvmlDeviceGetEncoderUtilization(nvmlDevice_t d, unsigned int *u, unsigned int *p) { return idle_engine(d, u, p); }
EXPORT nvmlReturn_t nvmlDeviceGetDecoderUtilization(nvmlDevice_t d, unsigned int *u, unsigned int *p) { return idle_engine(d, u, p); }
EXPORT nvmlReturn_t nvmlDeviceGetJpgUtilization(nvmlDevice_t d, unsigned int *u, unsigned int *p) { return idle_engine(d, u, p); }
EXPORT nvmlReturn_t nvmlDeviceGetOfaUtilization(nvmlDevice_t d, unsigned int *u, unsigned int *p) { return idle_engine(d, u, p); }
EXPORT nvmlReturn_t nvmlDeviceGetEncoderStats(nvmlDevice_t device, unsigned int *sessions, unsigned int *fps, unsigned int *us) {
    CHECK(device, sessions && fps && us);
    *sessions = *fps = *us = 0;
    return NVML_SUCCESS;
}
EXPORT nvmlReturn_t nvmlDeviceGetEncoderSessions(nvmlDevice_t device, unsigned int *count, void *sessions) {
    (void)sessions;
    CHECK(device, count);
    *count = 0;
    return NVML_SUCCESS;
}
EXPORT nvmlReturn_t nvmlDeviceGetFBCStats(nvmlDevice_t device, nvmlFBCStats_t *stats) {
    CHECK(device, stats);
    memset(stats, 0, sizeof *stats);
    return NVML_SUCCESS;
}
EXPORT nvmlReturn_t nvmlDeviceGetFBCSessions(nvmlDevice_t device, unsigned int *count, void *sessions) {
    return nvmlDeviceGetEncoderSessions(device, count, sessions);
}

EXPORT nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t device, unsigned int type, unsigned int *mhz) {
    READ(device, mhz && type < NVML_CLOCK_COUNT, state);
    return told(type == NVML_CLOCK_MEM     ? state.memClockMhz
                : type == NVML_CLOCK_VIDEO ? state.videoClockMhz
                                           : state.smClockMhz,
                mhz);
}
EXPORT nvmlReturn_t nvmlDeviceGetApplicationsClock(nvmlDevice_t device, unsigned int type, unsigned int *mhz) {
    READ(device, mhz && type < NVML_CLOCK_COUNT, state);
    if (!device->identity->hasApplicationClocks || type == NVML_CLOCK_VIDEO) return NVML_ERROR_NOT_SUPPORTED;
    return told(type == NVML_CLOCK_MEM ? state.applicationMemClockMhz : state.applicationSmClockMhz, mhz);
}
EXPORT nvmlReturn_t nvmlDeviceGetDefaultApplicationsClock(nvmlDevice_t device, unsigned int type, unsigned int *mhz) {
    CHECK(device, mhz && type < NVML_CLOCK_COUNT);
    if (!device->identity->hasApplicationClocks || type == NVML_CLOCK_VIDEO) return NVML_ERROR_NOT_SUPPORTED;
    *mhz = type == NVML_CLOCK_MEM ? device->identity->memClocksMhz[0] : device->identity->defaultSmClockMhz;
    return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetMaxCustomerBoostClock(nvmlDevice_t device, unsigned int type, unsigned int *mhz);
EXPORT nvmlReturn_t nvmlDeviceGetClock(nvmlDevice_t device, unsigned int type, unsigned int id, unsigned int *mhz) {
    CHECK(device, mhz && type < NVML_CLOCK_COUNT);
    switch (id) {
    case NVML_CLOCK_ID_CURRENT: return nvmlDeviceGetClockInfo(device, type, mhz);
    case NVML_CLOCK_ID_APP_CLOCK_TARGET: return nvmlDeviceGetApplicationsClock(device, type, mhz);
    case NVML_CLOCK_ID_APP_CLOCK_DEFAULT: return nvmlDeviceGetDefaultApplicationsClock(device, type, mhz);
    case NVML_CLOCK_ID_CUSTOMER_BOOST_MAX: return nvmlDeviceGetMaxCustomerBoostClock(device, type, mhz);
    default: return NVML_ERROR_INVALID_ARGUMENT;
    }
}

EXPORT nvmlReturn_t nvmlDeviceGetCurrentClocksEventReasons(nvmlDevice_t device, unsigned long long *reasons) {
    READ(device, reasons, state);
    *reasons = state.eventReasons;
    return NVML_SUCCESS;
}
EXPORT nvmlReturn_t nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t device, unsigned long long *reasons) {
    return nvmlDeviceGetCurrentClocksEventReasons(device, reasons);
}
EXPORT nvmlReturn_t nvmlDeviceGetSupportedClocksEventReasons(nvmlDevice_t device, unsigned long long *reasons) {
    CHECK(device, reasons);
    *reasons = EVENT_REASON_GPU_IDLE | EVENT_REASON_APPLICATION_CLOCKS | EVENT_REASON_SW_POWER_CAP |
               EVENT_REASON_HW_SLOWDOWN | EVENT_REASON_SW_THERMAL | EVENT_REASON_HW_THERMAL;
    return NVML_SUCCESS;
}
EXPORT nvmlReturn_t nvmlDeviceGetSupportedClocksThrottleReasons(nvmlDevice_t device, unsigned long long *reasons) {
    return nvmlDeviceGetSupportedClocksEventReasons(device, reasons);
}

EXPORT nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device, unsigned int sensor, unsigned int *celsius) {
    READ(device, celsius && sensor == 0, state);
    return told(state.temperatureC, celsius);
}
EXPORT nvmlReturn_t nvmlDeviceGetTemperatureV(nvmlDevice_t device, nvmlTemperature_v1_t *temperature) {
    CHECK(device, temperature);
    if (temperature->version != STRUCT_VERSION(nvmlTemperature_v1_t, 1)) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    unsigned int celsius;
    nvmlReturn_t result = nvmlDeviceGetTemperature(device, temperature->sensorType, &celsius);
    if (result == NVML_SUCCESS) temperature->temperature = (int)celsius;
    return result;
}
EXPORT nvmlReturn_t nvmlDeviceGetMarginTemperature(nvmlDevice_t device, nvmlMarginTemperature_v1_t *margin) {
    READ(device, margin, state);
    if (margin->version != STRUCT_VERSION(nvmlMarginTemperature_v1_t, 1)) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    if (whether_told(state.temperatureC) != NVML_SUCCESS) return whether_told(state.temperatureC);
    margin->marginTemperature = (int)device->identity->temperatureMaxC - (int)state.temperatureC;
    return NVML_SUCCESS;
}

EXPORT nvmlReturn_t nvmlDeviceGetFanSpeed_v2(nvmlDevice_t device, unsigned int fan, unsigned int *percent) {
    CHECK(device, percent);
    if (!device->identity->fanCount) return NVML_ERROR_NOT_SUPPORTED;
    return fan < device->identity->fanCount ? nvmlDeviceGetFanSpeed(device, percent) : NVML_ERROR_INVALID_ARGUMENT;
}
EXPORT nvmlReturn_t nvmlDeviceGetTargetFanSpeed(nvmlDevice_t device, unsigned int fan, unsigned int *percent) {
    return nvmlDeviceGetFanSpeed_v2(device, fan, percent);
}
EXPORT nvmlReturn_t nvmlDeviceGetFanControlPolicy_v2(nvmlDevice_t device, unsigned int fan, unsigned int *policy) {
    CHECK(device, policy);
    if (!device->identity->fanCount) return NVML_ERROR_NOT_SUPPORTED;
    if (fan >= device->identity->fanCount) return NVML_ERROR_INVALID_ARGUMENT;
    *policy = 0; /* by temperature */
    return NVML_SUCCESS;
}

EXPORT nvmlReturn_t nvmlDeviceGetPcieThroughput(nvmlDevice_t device, unsigned int counter, unsigned int *kbps) {
    READ(device, kbps && counter < 2, state);
    return told(counter == 0 ? state.pcieTxKbps : state.pcieRxKbps, kbps);
}

EXPORT nvmlReturn_t nvmlDeviceGetViolationStatus(nvmlDevice_t device, unsigned int policy, nvmlViolationTime_t *time) {
    READ(device, time && policy < NVML_PERF_POLICY_COUNT, state);
    time->referenceTime = state.timestampUs;
    time->violationTime = policy == NVML_PERF_POLICY_POWER     ? state.violationPowerNs
                          : policy == NVML_PERF_POLICY_THERMAL ? state.violationThermalNs
                                                               : 0;
    return NVML_SUCCESS;
}

/* The driver's sample buffers are not kept: there are none since any time stamp. */
EXPORT nvmlReturn_t nvmlDeviceGetSamples(nvmlDevice_t device, unsigned int type, unsigned long long since,
                                         unsigned int *valueType, unsigned int *count, void *samples) {
    (void)type, (void)since, (void)samples;
    CHECK(device, valueType && count);
    *count = 0;
    return NVML_ERROR_NOT_FOUND;
}
