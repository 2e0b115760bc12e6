/*
 * The part of NVML's published binary interface that this library answers: return codes, enumerations, structures.
 * Every structure's size is asserted, because a program that was compiled against NVML relies on nothing else.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

typedef unsigned int nvmlReturn_t;
enum {
    NVML_SUCCESS = 0,
    NVML_ERROR_UNINITIALIZED = 1,
    NVML_ERROR_INVALID_ARGUMENT = 2,
    NVML_ERROR_NOT_SUPPORTED = 3,
    NVML_ERROR_NO_PERMISSION = 4,
    NVML_ERROR_NOT_FOUND = 6,
    NVML_ERROR_INSUFFICIENT_SIZE = 7,
    NVML_ERROR_DRIVER_NOT_LOADED = 9,
    NVML_ERROR_TIMEOUT = 10,
    NVML_ERROR_GPU_IS_LOST = 15,
    NVML_ERROR_LIB_RM_VERSION_MISMATCH = 18,
    NVML_ERROR_IN_USE = 19,
    NVML_ERROR_MEMORY = 20,
    NVML_ERROR_NO_DATA = 21,
    NVML_ERROR_INSUFFICIENT_RESOURCES = 23,
    NVML_ERROR_ARGUMENT_VERSION_MISMATCH = 25,
    NVML_ERROR_UNKNOWN = 999
};

enum { NVML_CLOCK_GRAPHICS, NVML_CLOCK_SM, NVML_CLOCK_MEM, NVML_CLOCK_VIDEO, NVML_CLOCK_COUNT };
enum {
    NVML_CLOCK_ID_CURRENT,
    NVML_CLOCK_ID_APP_CLOCK_TARGET,
    NVML_CLOCK_ID_APP_CLOCK_DEFAULT,
    NVML_CLOCK_ID_CUSTOMER_BOOST_MAX,
    NVML_CLOCK_ID_COUNT
};
enum { NVML_COMPUTEMODE_DEFAULT = 0, NVML_COMPUTEMODE_EXCLUSIVE_THREAD = 1, NVML_COMPUTEMODE_COUNT = 4 };
enum {
    NVML_TEMPERATURE_THRESHOLD_SHUTDOWN,
    NVML_TEMPERATURE_THRESHOLD_SLOWDOWN,
    NVML_TEMPERATURE_THRESHOLD_MEM_MAX,
    NVML_TEMPERATURE_THRESHOLD_GPU_MAX,
    NVML_TEMPERATURE_THRESHOLD_COUNT = 8
};
enum { NVML_PERF_POLICY_POWER, NVML_PERF_POLICY_THERMAL, NVML_PERF_POLICY_COUNT = 12 };
enum { NVML_POWER_SCOPE_GPU, NVML_POWER_SCOPE_MODULE, NVML_POWER_SCOPE_MEMORY };
enum { NVML_VALUE_TYPE_UNSIGNED_INT = 1, NVML_VALUE_TYPE_UNSIGNED_LONG_LONG = 3 };
#define NVML_PSTATE_UNKNOWN 32
#define NVML_BUS_TYPE_PCIE 2
#define NVML_TOPOLOGY_NODE 40
#define NVML_P2P_STATUS_CHIPSET_NOT_SUPPORTED 1
#define NVML_INIT_FLAG_NO_GPUS 1u
enum { NVML_DEVICE_MIG_DISABLE, NVML_DEVICE_MIG_ENABLE };
enum {
    NVML_COMPUTE_INSTANCE_PROFILE_1_SLICE,
    NVML_COMPUTE_INSTANCE_PROFILE_2_SLICE,
    NVML_COMPUTE_INSTANCE_PROFILE_3_SLICE,
    NVML_COMPUTE_INSTANCE_PROFILE_4_SLICE,
    NVML_COMPUTE_INSTANCE_PROFILE_7_SLICE,
    NVML_COMPUTE_INSTANCE_PROFILE_COUNT = 8
};
#define NVML_GPU_INSTANCE_PROFILE_COUNT 17
#define NVML_COMPUTE_INSTANCE_ENGINE_PROFILE_SHARED 0

/* What a versioned structure carries in its first word: its size and its version. */
#define STRUCT_VERSION(type, number) ((unsigned int)(sizeof(type) | ((number) << 24)))

typedef struct device *nvmlDevice_t;
typedef struct event_set *nvmlEventSet_t;
typedef struct gpu_instance_handle *nvmlGpuInstance_t;
typedef struct compute_instance_handle *nvmlComputeInstance_t;

typedef struct {
    char busIdLegacy[16];
    unsigned int domain, bus, device, pciDeviceId, pciSubSystemId;
    char busId[32];
} nvmlPciInfo_t;
typedef struct {
    char busId[16];
    unsigned int domain, bus, device, pciDeviceId;
} nvmlPciInfo_v1_t;
typedef struct {
    char busId[16];
    unsigned int domain, bus, device, pciDeviceId, pciSubSystemId, reserved[4];
} nvmlPciInfo_v2_t;
typedef struct {
    unsigned int version, domain, bus, device, pciDeviceId, pciSubSystemId, baseClass, subClass;
    char busId[32];
} nvmlPciInfoExt_v1_t;
typedef struct { unsigned long long total, free, used; } nvmlMemory_t;
typedef struct {
    unsigned int version;
    unsigned long long total, reserved, free, used;
} nvmlMemory_v2_t;
typedef struct { unsigned long long bar1Total, bar1Free, bar1Used; } nvmlBAR1Memory_t;
typedef struct { unsigned int gpu, memory; } nvmlUtilization_t;
typedef struct { unsigned int pid; unsigned long long usedGpuMemory; } nvmlProcessInfo_v1_t;
typedef struct {
    unsigned int pid;
    unsigned long long usedGpuMemory;
    unsigned int gpuInstanceId, computeInstanceId;
} nvmlProcessInfo_t;
typedef struct {
    unsigned int pid;
    unsigned long long usedGpuMemory;
    unsigned int gpuInstanceId, computeInstanceId;
    unsigned long long usedGpuCcProtectedMemory;
} nvmlProcessDetail_v1_t;
typedef struct {
    unsigned int version, mode, numProcArrayEntries;
    nvmlProcessDetail_v1_t *procArray;
} nvmlProcessDetailList_v1_t;
typedef struct {
    unsigned int pid;
    unsigned long long timeStamp;
    unsigned int smUtil, memUtil, encUtil, decUtil;
} nvmlProcessUtilizationSample_t;
typedef struct {
    unsigned long long timeStamp;
    unsigned int pid, smUtil, memUtil, encUtil, decUtil, jpgUtil, ofaUtil;
} nvmlProcessUtilizationInfo_v1_t;
typedef struct {
    unsigned int version, processSamplesCount;
    unsigned long long lastSeenTimeStamp;
    nvmlProcessUtilizationInfo_v1_t *procUtilArray;
} nvmlProcessesUtilizationInfo_v1_t;
typedef union {
    double dVal;
    unsigned int uiVal;
    unsigned long ulVal;
    unsigned long long ullVal;
    signed long long sllVal;
} nvmlValue_t;
typedef struct {
    unsigned int fieldId, scopeId;
    long long timestamp, latencyUsec;
    unsigned int valueType;
    nvmlReturn_t nvmlReturn;
    nvmlValue_t value;
} nvmlFieldValue_t;
typedef struct { unsigned long long referenceTime, violationTime; } nvmlViolationTime_t;
typedef struct { unsigned long long l1Cache, l2Cache, deviceMemory, registerFile; } nvmlEccErrorCounts_t;
typedef struct { unsigned int version, fan, speed; } nvmlFanSpeedInfo_v1_t;
typedef struct { unsigned int version, sensorType; int temperature; } nvmlTemperature_v1_t;
typedef struct { unsigned int version; int marginTemperature; } nvmlMarginTemperature_v1_t;
typedef struct { unsigned int version, powerScope, powerValueMw; } nvmlPowerValue_v2_t;
typedef struct { unsigned int version, isSupportedDevice; } nvmlGpmSupport_t;
typedef struct { unsigned int sessionsCount, averageFPS, averageLatency; } nvmlFBCStats_t;
typedef struct { unsigned int version; char branch[80]; } nvmlSystemDriverBranchInfo_v1_t;
typedef struct {
    nvmlDevice_t device;
    unsigned long long eventType, eventData;
    unsigned int gpuInstanceId, computeInstanceId;
} nvmlEventData_t;

typedef struct { unsigned int start, size; } nvmlGpuInstancePlacement_t;
typedef struct { unsigned int start, size; } nvmlComputeInstancePlacement_t;
typedef struct {
    unsigned int id, isP2pSupported, sliceCount, instanceCount, multiprocessorCount, copyEngineCount, decoderCount,
        encoderCount, jpegCount, ofaCount;
    unsigned long long memorySizeMB;
} nvmlGpuInstanceProfileInfo_t;
typedef struct {
    unsigned int version, id, isP2pSupported, sliceCount, instanceCount, multiprocessorCount, copyEngineCount,
        decoderCount, encoderCount, jpegCount, ofaCount;
    unsigned long long memorySizeMB;
    char name[96];
} nvmlGpuInstanceProfileInfo_v2_t;
typedef struct {
    unsigned int version, id, sliceCount, instanceCount, multiprocessorCount, copyEngineCount, decoderCount, encoderCount,
        jpegCount, ofaCount;
    unsigned long long memorySizeMB;
    char name[96];
    unsigned int capabilities;
} nvmlGpuInstanceProfileInfo_v3_t;
typedef struct {
    nvmlDevice_t device;
    unsigned int id, profileId;
    nvmlGpuInstancePlacement_t placement;
} nvmlGpuInstanceInfo_t;
typedef struct {
    unsigned int id, sliceCount, instanceCount, multiprocessorCount, sharedCopyEngineCount, sharedDecoderCount,
        sharedEncoderCount, sharedJpegCount, sharedOfaCount;
} nvmlComputeInstanceProfileInfo_t;
typedef struct {
    unsigned int version, id, sliceCount, instanceCount, multiprocessorCount, sharedCopyEngineCount, sharedDecoderCount,
        sharedEncoderCount, sharedJpegCount, sharedOfaCount;
    char name[96];
} nvmlComputeInstanceProfileInfo_v2_t;
typedef struct {
    unsigned int version, id, sliceCount, instanceCount, multiprocessorCount, sharedCopyEngineCount, sharedDecoderCount,
        sharedEncoderCount, sharedJpegCount, sharedOfaCount;
    char name[96];
    unsigned int capabilities;
} nvmlComputeInstanceProfileInfo_v3_t;
typedef struct {
    nvmlDevice_t device;
    nvmlGpuInstance_t gpuInstance;
    unsigned int id, profileId;
    nvmlComputeInstancePlacement_t placement;
} nvmlComputeInstanceInfo_t;
typedef struct {
    unsigned int multiprocessorCount, sharedCopyEngineCount, sharedDecoderCount, sharedEncoderCount, sharedJpegCount,
        sharedOfaCount, gpuInstanceSliceCount, computeInstanceSliceCount;
    unsigned long long memorySizeMB;
} nvmlDeviceAttributes_t;

#define ASSERT_SIZE(type, bytes) _Static_assert(sizeof(type) == (bytes), #type " differs from the published layout")
ASSERT_SIZE(nvmlPciInfo_t, 68);
ASSERT_SIZE(nvmlPciInfo_v1_t, 32);
ASSERT_SIZE(nvmlPciInfo_v2_t, 52);
ASSERT_SIZE(nvmlPciInfoExt_v1_t, 64);
ASSERT_SIZE(nvmlMemory_t, 24);
ASSERT_SIZE(nvmlMemory_v2_t, 40);
ASSERT_SIZE(nvmlBAR1Memory_t, 24);
ASSERT_SIZE(nvmlUtilization_t, 8);
ASSERT_SIZE(nvmlProcessInfo_v1_t, 16);
ASSERT_SIZE(nvmlProcessInfo_t, 24);
ASSERT_SIZE(nvmlProcessDetail_v1_t, 32);
ASSERT_SIZE(nvmlProcessDetailList_v1_t, 24);
ASSERT_SIZE(nvmlProcessUtilizationSample_t, 32);
ASSERT_SIZE(nvmlProcessUtilizationInfo_v1_t, 40);
ASSERT_SIZE(nvmlProcessesUtilizationInfo_v1_t, 24);
ASSERT_SIZE(nvmlValue_t, 8);
ASSERT_SIZE(nvmlFieldValue_t, 40);
ASSERT_SIZE(nvmlViolationTime_t, 16);
ASSERT_SIZE(nvmlEccErrorCounts_t, 32);
ASSERT_SIZE(nvmlFanSpeedInfo_v1_t, 12);
ASSERT_SIZE(nvmlTemperature_v1_t, 12);
ASSERT_SIZE(nvmlMarginTemperature_v1_t, 8);
ASSERT_SIZE(nvmlPowerValue_v2_t, 12);
ASSERT_SIZE(nvmlGpmSupport_t, 8);
ASSERT_SIZE(nvmlFBCStats_t, 12);
ASSERT_SIZE(nvmlSystemDriverBranchInfo_v1_t, 84);
ASSERT_SIZE(nvmlEventData_t, 32);
ASSERT_SIZE(nvmlGpuInstancePlacement_t, 8);
ASSERT_SIZE(nvmlComputeInstancePlacement_t, 8);
ASSERT_SIZE(nvmlGpuInstanceProfileInfo_t, 48);
ASSERT_SIZE(nvmlGpuInstanceProfileInfo_v2_t, 152);
ASSERT_SIZE(nvmlGpuInstanceProfileInfo_v3_t, 152);
ASSERT_SIZE(nvmlGpuInstanceInfo_t, 24);
ASSERT_SIZE(nvmlComputeInstanceProfileInfo_t, 36);
ASSERT_SIZE(nvmlComputeInstanceProfileInfo_v2_t, 136);
ASSERT_SIZE(nvmlComputeInstanceProfileInfo_v3_t, 140);
ASSERT_SIZE(nvmlComputeInstanceInfo_t, 32);
ASSERT_SIZE(nvmlDeviceAttributes_t, 40);
