/* Setters: requests that the simulator applies and acknowledges. */
#include "nvml_answers.h"

static nvmlReturn_t request(nvmlDevice_t device, unsigned int operation, unsigned int first, unsigned int second) {
    return board_request(device, &(struct request){.operation = operation, .first = first, .second = second});
}

EXPORT nvmlReturn_t nvmlDeviceSetPowerManagementLimit(nvmlDevice_t device, unsigned int mw) {
    return request(device, OPERATION_SET_POWER_LIMIT, mw, 0);
}
EXPORT nvmlReturn_t nvmlDeviceSetPowerManagementLimit_v2(nvmlDevice_t device, nvmlPowerValue_v2_t *value) {
    CHECK(device, value);
    if (value->version != STRUCT_VERSION(nvmlPowerValue_v2_t, 2)) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    if (value->powerScope != NVML_POWER_SCOPE_GPU) return NVML_ERROR_NOT_SUPPORTED;
    return request(device, OPERATION_SET_POWER_LIMIT, value->powerValueMw, 0);
}
EXPORT nvmlReturn_t nvmlDeviceSetGpuLockedClocks(nvmlDevice_t device, unsigned int min, unsigned int max) {
    return request(device, OPERATION_LOCK_SM_CLOCK, min, max);
}
EXPORT nvmlReturn_t nvmlDeviceResetGpuLockedClocks(nvmlDevice_t device) {
    return request(device, OPERATION_RESET_SM_CLOCK, 0, 0);
}
/* Memory clocks can be locked from Ampere on. */
EXPORT nvmlReturn_t nvmlDeviceSetMemoryLockedClocks(nvmlDevice_t device, unsigned int min, unsigned int max) {
    CHECK(device, 1);
    return device->identity->architecture < 7 ? NVML_ERROR_NOT_SUPPORTED : request(device, OPERATION_LOCK_MEM_CLOCK, min, max);
}
EXPORT nvmlReturn_t nvmlDeviceResetMemoryLockedClocks(nvmlDevice_t device) {
    CHECK(device, 1);
    return device->identity->architecture < 7 ? NVML_ERROR_NOT_SUPPORTED : request(device, OPERATION_RESET_MEM_CLOCK, 0, 0);
}
EXPORT nvmlReturn_t nvmlDeviceSetComputeMode(nvmlDevice_t device, unsigned int mode) {
    CHECK(device, mode < NVML_COMPUTEMODE_COUNT);
    if (mode == NVML_COMPUTEMODE_EXCLUSIVE_THREAD) return NVML_ERROR_NOT_SUPPORTED;
    return request(device, OPERATION_SET_COMPUTE_MODE, mode, 0);
}
EXPORT nvmlReturn_t nvmlDeviceSetPersistenceMode(nvmlDevice_t device, unsigned int mode) {
    CHECK(device, mode <= 1);
    return request(device, OPERATION_SET_PERSISTENCE_MODE, mode, 0);
}
EXPORT nvmlReturn_t nvmlDeviceSetApplicationsClocks(nvmlDevice_t device, unsigned int memory, unsigned int graphics) {
    CHECK(device, 1);
    if (!device->identity->hasApplicationClocks) return NVML_ERROR_NOT_SUPPORTED;
    return request(device, OPERATION_SET_APPLICATION_CLOCKS, memory, graphics);
}
EXPORT nvmlReturn_t nvmlDeviceResetApplicationsClocks(nvmlDevice_t device) {
    CHECK(device, 1);
    if (!device->identity->hasApplicationClocks) return NVML_ERROR_NOT_SUPPORTED;
    return request(device, OPERATION_RESET_APPLICATION_CLOCKS, 0, 0);
}
