/* What a board is: names, places, capabilities, supported clocks. Nothing here changes while the host runs. */
#include "nvml_answers.h"
#include <stdio.h>
#include <string.h>

IDENTITY_TEXT(nvmlDeviceGetVbiosVersion, vbiosVersion)

IDENTITY_NUMBER(nvmlDeviceGetMinorNumber, device->index)
IDENTITY_NUMBER(nvmlDeviceGetBoardId, device->identity->pciBus << 8 | device->identity->pciDevice)
IDENTITY_NUMBER(nvmlDeviceGetMultiGpuBoard, 0)
IDENTITY_NUMBER(nvmlDeviceGetBrand, device->identity->brand)
IDENTITY_NUMBER(nvmlDeviceGetArchitecture, device->identity->architecture)
IDENTITY_NUMBER(nvmlDeviceGetNumGpuCores, device->identity->coreCount)
IDENTITY_NUMBER(nvmlDeviceGetMemoryBusWidth, device->identity->memoryBusBits)
IDENTITY_NUMBER(nvmlDeviceGetBusType, NVML_BUS_TYPE_PCIE)
IDENTITY_NUMBER(nvmlDeviceGetMaxPcieLinkGeneration, device->identity->pcieGenMax)
IDENTITY_NUMBER(nvmlDeviceGetGpuMaxPcieLinkGeneration, device->identity->pcieGenMax)
IDENTITY_NUMBER(nvmlDeviceGetMaxPcieLinkWidth, device->identity->pcieWidthMax)
IDENTITY_NUMBER(nvmlDeviceGetCurrPcieLinkWidth, device->identity->pcieWidthMax)
IDENTITY_NUMBER(nvmlDeviceGetPcieLinkMaxSpeed, device->identity->pcieGenMax)
IDENTITY_NUMBER(nvmlDeviceGetPcieReplayCounter, 0)
IDENTITY_NUMBER(nvmlDeviceGetIrqNum, 64 + device->index)
IDENTITY_NUMBER(nvmlDeviceGetNumFans, device->identity->fanCount)
IDENTITY_NUMBER(nvmlDeviceGetPowerSource, 0)
IDENTITY_NUMBER(nvmlDeviceGetPowerManagementMode, 1)
IDENTITY_NUMBER(nvmlDeviceGetPowerManagementDefaultLimit, device->identity->powerDefaultMw)
IDENTITY_NUMBER(nvmlDeviceGetAdaptiveClockInfoStatus, 1)
IDENTITY_NUMBER(nvmlDeviceGetDisplayMode, 0)
IDENTITY_NUMBER(nvmlDeviceGetDisplayActive, 0)
IDENTITY_NUMBER(nvmlDeviceGetVirtualizationMode, 0)

EXPORT nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t device, int *major, int *minor) {
    READ_ANY(device, major && minor, state, mig);
    (void)mig;
    *major = (int)device->identity->computeMajor;
    *minor = (int)device->identity->computeMinor;
    return NVML_SUCCESS;
}

EXPORT nvmlReturn_t nvmlDeviceGetPcieSpeed(nvmlDevice_t device, unsigned int *mbps) {
    static const unsigned int by_generation[] = {0, 2500, 5000, 8000, 16000, 32000, 64000};
    CHECK(device, mbps);
    *mbps = by_generation[device->identity->pcieGenMax <= 6 ? device->identity->pcieGenMax : 6];
    return NVML_SUCCESS;
}

static void legacy_bus_id(const struct board_identity *identity, char id[16]) {
    snprintf(id, 16, "%04X:%02X:%02X.0", identity->pciDomain & 0xffff, identity->pciBus & 0xff, identity->pciDevice & 0xff);
}
EXPORT nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t *pci) {
    CHECK(device, pci);
    const struct board_identity *identity = device->identity;
    *pci = (nvmlPciInfo_t){.domain = identity->pciDomain, .bus = identity->pciBus, .device = identity->pciDevice,
                           .pciDeviceId = identity->pciDeviceId, .pciSubSystemId = identity->pciSubsystemId};
    legacy_bus_id(identity, pci->busIdLegacy);
    return copy_text(identity->busId, pci->busId, sizeof pci->busId);
}
EXPORT nvmlReturn_t nvmlDeviceGetPciInfo_v2(nvmlDevice_t device, nvmlPciInfo_v2_t *pci) {
    CHECK(device, pci);
    const struct board_identity *identity = device->identity;
    *pci = (nvmlPciInfo_v2_t){.domain = identity->pciDomain, .bus = identity->pciBus, .device = identity->pciDevice,
                              .pciDeviceId = identity->pciDeviceId, .pciSubSystemId = identity->pciSubsystemId};
    legacy_bus_id(identity, pci->busId);
    return NVML_SUCCESS;
}
EXPORT nvmlReturn_t nvmlDeviceGetPciInfo(nvmlDevice_t device, nvmlPciInfo_v1_t *pci) {
    CHECK(device, pci);
    const struct board_identity *identity = device->identity;
    *pci = (nvmlPciInfo_v1_t){.domain = identity->pciDomain, .bus = identity->pciBus, .device = identity->pciDevice,
                              .pciDeviceId = identity->pciDeviceId};
    legacy_bus_id(identity, pci->busId);
    return NVML_SUCCESS;
}
EXPORT nvmlReturn_t nvmlDeviceGetPciInfoExt(nvmlDevice_t device, nvmlPciInfoExt_v1_t *pci) {
    CHECK(device, pci);
    if (pci->version != STRUCT_VERSION(nvmlPciInfoExt_v1_t, 1)) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    const struct board_identity *identity = device->identity;
    *pci = (nvmlPciInfoExt_v1_t){.version = pci->version, .domain = identity->pciDomain, .bus = identity->pciBus,
                                 .device = identity->pciDevice, .pciDeviceId = identity->pciDeviceId,
                                 .pciSubSystemId = identity->pciSubsystemId, .baseClass = 3, .subClass = 2};
    return copy_text(identity->busId, pci->busId, sizeof pci->busId);
}

EXPORT nvmlReturn_t nvmlDeviceGetPowerManagementLimitConstraints(nvmlDevice_t device, unsigned int *min, unsigned int *max) {
    CHECK(device, min && max);
    *min = device->identity->powerMinMw;
    *max = device->identity->powerMaxMw;
    return NVML_SUCCESS;
}

EXPORT nvmlReturn_t nvmlDeviceGetTemperatureThreshold(nvmlDevice_t device, unsigned int threshold, unsigned int *celsius) {
    CHECK(device, celsius && threshold < NVML_TEMPERATURE_THRESHOLD_COUNT);
    const struct board_identity *identity = device->identity;
    switch (threshold) {
    case NVML_TEMPERATURE_THRESHOLD_SHUTDOWN: *celsius = identity->temperatureShutdownC; return NVML_SUCCESS;
    case NVML_TEMPERATURE_THRESHOLD_SLOWDOWN: *celsius = identity->temperatureSlowdownC; return NVML_SUCCESS;
    case NVML_TEMPERATURE_THRESHOLD_GPU_MAX: *celsius = identity->temperatureMaxC; return NVML_SUCCESS;
    case NVML_TEMPERATURE_THRESHOLD_MEM_MAX:
        if (!identity->hasMemoryTemperature) return NVML_ERROR_NOT_SUPPORTED;
        *celsius = 95;
        return NVML_SUCCESS;
    default: return NVML_ERROR_NOT_SUPPORTED;
    }
}

EXPORT nvmlReturn_t nvmlDeviceGetMinMaxFanSpeed(nvmlDevice_t device, unsigned int *min, unsigned int *max) {
    CHECK(device, min && max);
    if (!device->identity->fanCount) return NVML_ERROR_NOT_SUPPORTED;
    *min = 30;
    *max = 100;
    return NVML_SUCCESS;
}

EXPORT nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t device, unsigned int type, unsigned int *mhz) {
    CHECK(device, mhz && type < NVML_CLOCK_COUNT);
    const struct board_identity *identity = device->identity;
    unsigned int top = 0;
    for (unsigned int i = 0; i < identity->memClockCount; i++)
        if (identity->smClocksMhz[i * MAX_SM_CLOCKS] > top) top = identity->smClocksMhz[i * MAX_SM_CLOCKS];
    unsigned int video = (top * 9 / 10 + 7) / 15 * 15; /* the video clock runs at nine tenths, in steps of 15 MHz */
    *mhz = type == NVML_CLOCK_MEM ? identity->memClocksMhz[0] : type == NVML_CLOCK_VIDEO ? video : top;
    return NVML_SUCCESS;
}
EXPORT nvmlReturn_t nvmlDeviceGetMaxCustomerBoostClock(nvmlDevice_t device, unsigned int type, unsigned int *mhz) {
    CHECK(device, mhz && type < NVML_CLOCK_COUNT);
    return device->identity->hasApplicationClocks ? nvmlDeviceGetMaxClockInfo(device, type, mhz) : NVML_ERROR_NOT_SUPPORTED;
}

/* Lists: with too small a buffer (or none) the needed length is told. */
static nvmlReturn_t copy_clocks(const uint32_t *clocks, unsigned int available, unsigned int *count, unsigned int *to) {
    unsigned int room = *count;
    *count = available;
    if (room < available) return NVML_ERROR_INSUFFICIENT_SIZE;
    if (!to) return NVML_ERROR_INVALID_ARGUMENT;
    memcpy(to, clocks, available * sizeof *to);
    return NVML_SUCCESS;
}
EXPORT nvmlReturn_t nvmlDeviceGetSupportedMemoryClocks(nvmlDevice_t device, unsigned int *count, unsigned int *mhz) {
    CHECK(device, count);
    return copy_clocks(device->identity->memClocksMhz, device->identity->memClockCount, count, mhz);
}
EXPORT nvmlReturn_t nvmlDeviceGetSupportedGraphicsClocks(nvmlDevice_t device, unsigned int memory, unsigned int *count,
                                                         unsigned int *mhz) {
    CHECK(device, count);
    const struct board_identity *identity = device->identity;
    for (unsigned int i = 0; i < identity->memClockCount; i++)
        if (identity->memClocksMhz[i] == memory)
            return copy_clocks(identity->smClocksMhz + i * MAX_SM_CLOCKS, identity->smClockCounts[i], count, mhz);
    return NVML_ERROR_NOT_FOUND;
}

/* Error correction: boards that have it never saw an error. */
EXPORT nvmlReturn_t nvmlDeviceGetEccMode(nvmlDevice_t device, unsigned int *current, unsigned int *pending) {
    CHECK(device, current && pending);
    if (!device->identity->hasEcc) return NVML_ERROR_NOT_SUPPORTED;
    *current = *pending = 1;
    return NVML_SUCCESS;
}
EXPORT nvmlReturn_t nvmlDeviceGetDefaultEccMode(nvmlDevice_t device, unsigned int *mode) {
    CHECK(device, mode);
    if (!device->identity->hasEcc) return NVML_ERROR_NOT_SUPPORTED;
    *mode = 1;
    return NVML_SUCCESS;
}
EXPORT nvmlReturn_t nvmlDeviceGetTotalEccErrors(nvmlDevice_t device, unsigned int error, unsigned int counter,
                                                unsigned long long *count) {
    CHECK(device, count && error < 2 && counter < 2);
    if (!device->identity->hasEcc) return NVML_ERROR_NOT_SUPPORTED;
    *count = 0;
    return NVML_SUCCESS;
}
EXPORT nvmlReturn_t nvmlDeviceGetMemoryErrorCounter(nvmlDevice_t device, unsigned int error, unsigned int counter,
                                                    unsigned int location, unsigned long long *count) {
    (void)location;
    return nvmlDeviceGetTotalEccErrors(device, error, counter, count);
}
EXPORT nvmlReturn_t nvmlDeviceGetDetailedEccErrors(nvmlDevice_t device, unsigned int error, unsigned int counter,
                                                   nvmlEccErrorCounts_t *counts) {
    CHECK(device, counts && error < 2 && counter < 2);
    if (!device->identity->hasEcc) return NVML_ERROR_NOT_SUPPORTED;
    memset(counts, 0, sizeof *counts);
    return NVML_SUCCESS;
}
EXPORT nvmlReturn_t nvmlDeviceGetRemappedRows(nvmlDevice_t device, unsigned int *corrected, unsigned int *uncorrected,
                                              unsigned int *pending, unsigned int *failed) {
    CHECK(device, corrected && uncorrected && pending && failed);
    if (!device->identity->hasEcc) return NVML_ERROR_NOT_SUPPORTED;
    *corrected = *uncorrected = *pending = *failed = 0;
    return NVML_SUCCESS;
}

/* Boards hang on the host's root complex, each on its own port. */
EXPORT nvmlReturn_t nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t device, nvmlDevice_t other, unsigned int *level) {
    CHECK(device, level && board_check(other) == NVML_SUCCESS);
    *level = device == other ? 0 : NVML_TOPOLOGY_NODE;
    return NVML_SUCCESS;
}
EXPORT nvmlReturn_t nvmlDeviceOnSameBoard(nvmlDevice_t device, nvmlDevice_t other, int *same) {
    CHECK(device, same && board_check(other) == NVML_SUCCESS);
    *same = device == other;
    return NVML_SUCCESS;
}
EXPORT nvmlReturn_t nvmlDeviceGetP2PStatus(nvmlDevice_t device, nvmlDevice_t other, unsigned int index, unsigned int *status) {
    (void)index;
    CHECK(device, status && board_check(other) == NVML_SUCCESS);
    *status = NVML_P2P_STATUS_CHIPSET_NOT_SUPPORTED;
    return NVML_SUCCESS;
}
EXPORT nvmlReturn_t nvmlGpmQueryDeviceSupport(nvmlDevice_t device, nvmlGpmSupport_t *support) {
    CHECK(device, support);
    if (support->version != 1) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    support->isSupportedDevice = 0;
    return NVML_SUCCESS;
}
