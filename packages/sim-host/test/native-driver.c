/*
 * The library's own sources in one program with a simulator that is a few lines: time, who asks, whether a process lives and what a
 * file may be opened for are this program's, so every answer is known and nothing waits.
 *
 * `native-driver rules`: each call against what the board file says. `native-driver random SEED SEQUENCES`: calls with arguments
 * drawn at random, into buffers of exactly the size that they say. Works in a folder `lib` beside which it makes the boards.
 */
#define _GNU_SOURCE
#include "board_file.h"
#include "nvml_abi.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define MOST_BOARDS 16
struct board_header_view { struct board_header *header; struct board_identity *identity; struct board_state *state; struct board_request *requests; struct board_events *events; };
static struct board_header_view boards[MOST_BOARDS + 1];

static int failures;
static void same(long long got, long long wanted, const char *what, int line) {
    if (got != wanted && ++failures <= 40) printf("line %d: %s is %lld, not %lld\n", line, what, got, wanted);
}
static void same_text(const char *got, const char *wanted, int line) {
    if (strcmp(got, wanted) && ++failures <= 40) printf("line %d: '%s', not '%s'\n", line, got, wanted);
}
#define SAME(got, wanted) same((long long)(got), (long long)(wanted), #got, __LINE__)
#define SAME_TEXT(got, wanted) same_text(got, wanted, __LINE__)

/* The world, as the library sees it. */
static uint64_t clock_ns = 1000000000000ull;
static uid_t effective_user;
static int simulator_lives = 1, dies_while_asked, finishes_writing, tears_reads, answers = 1, may_write = 1, may_read = 1;
static unsigned int answer_result, answer_value, beats = 1;
static struct board_request asked;
static unsigned int asked_count;
#define ASKER 4242

static void beat(void) { for (int i = 0; i <= MOST_BOARDS; i++) if (boards[i].header) boards[i].header->heartbeatNs = clock_ns; }

int __wrap_clock_gettime(clockid_t id, struct timespec *time) {
    (void)id;
    if (finishes_writing) boards[0].header->sequence++, finishes_writing = 0;
    time->tv_sec = (time_t)(clock_ns / 1000000000u), time->tv_nsec = (long)(clock_ns % 1000000000u);
    return 0;
}
int __wrap_nanosleep(const struct timespec *time, struct timespec *left) {
    (void)left;
    clock_ns += (uint64_t)time->tv_sec * 1000000000u + (uint64_t)time->tv_nsec;
    if (beats) beat();
    if (dies_while_asked) boards[0].header->presence = BOARD_STOPPED;
    for (int b = 0; answers && b <= MOST_BOARDS; b++)
        for (int i = 0; boards[b].requests && i < REQUEST_SLOTS; i++) {
            struct board_request *slot = &boards[b].requests[i];
            if (slot->owner == 0 || slot->sequence == slot->ack) continue;
            asked = *slot, asked_count++;
            slot->result = answer_result, slot->value = answer_value, slot->ack = slot->sequence;
        }
    return 0;
}
int __wrap_kill(pid_t pid, int number) {
    SAME(pid, 777), SAME(number, 0);
    if (simulator_lives == 2) return errno = EPERM, -1;
    return simulator_lives ? 0 : (errno = ESRCH, -1);
}
uid_t __wrap_geteuid(void) { return effective_user; }
pid_t __wrap_getpid(void) { return ASKER; }
int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...) {
    if (!may_read || ((flags & O_ACCMODE) == O_RDWR && !may_write)) return errno = EACCES, -1;
    return __real_open(path, flags, 0600);
}
void *__real_memcpy(void *to, const void *from, size_t length);
void *__wrap_memcpy(void *to, const void *from, size_t length) {
    __real_memcpy(to, from, length);
    /* The board is written while it is read: the copy is of two states. */
    if (tears_reads && length == sizeof(struct board_state)) {
        tears_reads = 0;
        boards[0].header->sequence += 2;
        boards[0].state->powerAverageMw = 222222;
    }
    return to;
}

static uint64_t random_state;
static uint32_t draw(uint32_t below) {
    random_state ^= random_state << 13, random_state ^= random_state >> 7, random_state ^= random_state << 17;
    return below ? (uint32_t)(random_state >> 11) % below : 0;
}

static void put_board(unsigned int index, unsigned int count) {
    char path[64];
    snprintf(path, sizeof path, "../gpu%u", index);
    int fd = __real_open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || ftruncate(fd, BOARD_FILE_BYTES)) exit(9);
    unsigned char *file = mmap(NULL, BOARD_FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    boards[index] = (struct board_header_view){(void *)file, (void *)(file + BOARD_IDENTITY_OFFSET), (void *)(file + BOARD_STATE_OFFSET), (void *)(file + BOARD_REQUESTS_OFFSET), (void *)(file + BOARD_EVENTS_OFFSET)};
    *boards[index].header = (struct board_header){.magic = BOARD_MAGIC, .version = BOARD_LAYOUT_VERSION, .presence = BOARD_PRESENT, .simulatorPid = 777, .gpuCount = count, .gpuIndex = index, .privilege = PRIVILEGE_ROOT, .heartbeatNs = clock_ns};
}

/* Numbers that are all different, so that a field taken for another is found out. */
static void fill_board(unsigned int index) {
    struct board_identity *id = boards[index].identity;
    struct board_state *state = boards[index].state;
    memset(id, 0, sizeof *id), memset(state, 0, sizeof *state);
    memset(boards[index].requests, 0, REQUEST_SLOTS * sizeof(struct board_request));
    uint32_t next = 1000 + index * 5000;
    snprintf(id->name, sizeof id->name, "Board %u", index), snprintf(id->uuid, sizeof id->uuid, "GPU-%u", index);
    snprintf(id->busId, sizeof id->busId, "00000000:%02X:00.0", index + 1);
    snprintf(id->driverVersion, sizeof id->driverVersion, "570.1"), snprintf(id->nvmlVersion, sizeof id->nvmlVersion, "12.570.1");
    snprintf(id->vbiosVersion, sizeof id->vbiosVersion, "94.%u", index);
    uint32_t *words[] = {&id->cudaDriverVersion, &id->pciDeviceId, &id->pciSubsystemId, &id->brand, &id->computeMajor, &id->computeMinor, &id->coreCount, &id->memoryBusBits, &id->pcieWidthMax, &id->powerMinMw, &id->powerDefaultMw, &id->powerMaxMw, &id->temperatureMaxC, &id->temperatureSlowdownC, &id->temperatureShutdownC, &id->defaultSmClockMhz,
                         &state->eventReasons, &state->powerAverageMw, &state->powerInstantMw, &state->powerLimitMw, &state->smClockMhz, &state->memClockMhz, &state->videoClockMhz, &state->smUtilPercent, &state->memUtilPercent, &state->temperatureC, &state->memoryTemperatureC, &state->fanPercent, &state->pstate, &state->pcieGen, &state->pcieRxKbps, &state->pcieTxKbps, &state->computeMode, &state->persistenceMode, &state->applicationSmClockMhz, &state->applicationMemClockMhz};
    for (unsigned int i = 0; i < sizeof words / sizeof *words; i++) *words[i] = next += 1 + draw(40);
    uint64_t *long_words[] = {&id->memoryReservedBytes, &state->energyMj, &state->violationPowerNs, &state->violationThermalNs, &state->timestampUs};
    for (unsigned int i = 0; i < sizeof long_words / sizeof *long_words; i++) *long_words[i] = ((uint64_t)(next += 3 + draw(50)) << 20) + i;
    id->memoryTotalBytes = 80ull << 30, state->memoryUsedBytes = id->memoryReservedBytes + (7ull << 30) + draw(1000), id->bar1TotalBytes = 1ull << 34;
    id->pciDomain = 0, id->pciBus = index + 1, id->architecture = 8, id->pcieGenMax = 4, id->fanCount = 2;
    id->hasEcc = id->hasMig = id->hasMemoryTemperature = id->hasApplicationClocks = 1;
    id->memClockCount = 3;
    for (unsigned int m = 0; m < id->memClockCount; m++) {
        id->memClocksMhz[m] = 9000 - 100 * m - index, id->smClockCounts[m] = 5 + m;
        for (unsigned int c = 0; c < id->smClockCounts[m]; c++) id->smClocksMhz[m * MAX_SM_CLOCKS + c] = 2100 + 15 * m - 15 * c;
    }
    id->migProfileCount = 2;
    id->migProfiles[0] = (struct mig_profile){.name = "1g.10gb", .memoryMb = 9856, .id = 19, .nvmlProfile = 0, .sliceCount = 1, .instanceCount = 7, .smCount = 16, .smPerSlice = 16, .copyEngines = 1, .decoders = 2, .jpegs = 3, .ofas = 4, .memorySlices = 1, .placementCount = 7, .placements = {0, 1, 2, 3, 4, 5, 6}};
    id->migProfiles[1] = (struct mig_profile){.name = "4g.40gb", .memoryMb = 40192, .id = 5, .nvmlProfile = 3, .sliceCount = 4, .instanceCount = 1, .smCount = 66, .smPerSlice = 16, .copyEngines = 5, .decoders = 6, .jpegs = 7, .ofas = 8, .memorySlices = 4, .placementCount = 2, .placements = {0, 4}};
    state->processCount = 5;
    for (unsigned int p = 0; p < 5; p++) {
        state->processes[p] = (struct board_process){.usedBytes = (1 + p) << 20, .pid = 500 + p, .isMpsClient = p != 1, .smUtilPercent = 10 + p, .memUtilPercent = 20 + p, .gpuInstanceId = NO_INSTANCE, .computeInstanceId = NO_INSTANCE};
        snprintf(state->processes[p].name, sizeof state->processes[p].name, "worker %u", p);
    }
}

/* Board 0 in three parts: a whole small instance, and one of 4 slices that holds compute instances of 1 and of 2. */
static void divide(void) {
    struct board_state *state = boards[0].state;
    state->migCurrent = 1, state->migPending = 1, state->gpuInstanceCount = 2, state->computeInstanceCount = 3;
    state->gpuInstances[0] = (struct gpu_instance){.usedBytes = 111 << 20, .reservedBytes = 5 << 20, .id = 9, .profile = 0, .start = 6, .takenSlices = 1};
    state->gpuInstances[1] = (struct gpu_instance){.usedBytes = 222 << 20, .reservedBytes = 6 << 20, .id = 2, .profile = 1, .start = 0, .takenSlices = 13};
    state->computeInstances[0] = (struct compute_instance){.uuid = "MIG-a", .gpuInstanceId = 9, .id = 0, .sliceCount = 1, .start = 0, .smCount = 16};
    state->computeInstances[1] = (struct compute_instance){.uuid = "MIG-b", .gpuInstanceId = 2, .id = 0, .sliceCount = 1, .start = 0, .smCount = 17};
    state->computeInstances[2] = (struct compute_instance){.uuid = "MIG-c", .gpuInstanceId = 2, .id = 1, .sliceCount = 2, .start = 2, .smCount = 32};
    for (unsigned int p = 0; p < 5; p++) state->processes[p].gpuInstanceId = p < 2 ? 9 : 2, state->processes[p].computeInstanceId = p == 4;
}

/* Without parameter lists, as dlsym gives them to programs. */
#define CALLS(X) X(Init_v2) X(Init) X(InitWithFlags) X(Shutdown) X(SystemGetDriverVersion) X(SystemGetNVMLVersion) X(SystemGetCudaDriverVersion) X(SystemGetDriverBranch) X(SystemGetProcessName) X(DeviceGetCount) X(DeviceGetHandleByIndex) X(DeviceGetHandleByUUID) X(DeviceGetHandleByPciBusId) X(UnitGetCount) X(DeviceGetHandleBySerial) \
    X(DeviceGetVbiosVersion) X(DeviceGetMinorNumber) X(DeviceGetBoardId) X(DeviceGetMultiGpuBoard) X(DeviceGetBrand) X(DeviceGetArchitecture) X(DeviceGetNumGpuCores) X(DeviceGetMemoryBusWidth) X(DeviceGetBusType) X(DeviceGetMaxPcieLinkGeneration) X(DeviceGetGpuMaxPcieLinkGeneration) X(DeviceGetMaxPcieLinkWidth) X(DeviceGetCurrPcieLinkWidth) X(DeviceGetPcieLinkMaxSpeed) X(DeviceGetPcieReplayCounter) X(DeviceGetIrqNum) X(DeviceGetNumFans) X(DeviceGetPowerManagementMode) X(DeviceGetPowerManagementDefaultLimit) X(DeviceGetDisplayMode) X(DeviceGetVirtualizationMode) X(DeviceGetCudaComputeCapability) X(DeviceGetPcieSpeed) X(DeviceGetPciInfo_v3) X(DeviceGetPciInfo_v2) X(DeviceGetPciInfo) X(DeviceGetPciInfoExt) X(DeviceGetPowerManagementLimitConstraints) X(DeviceGetTemperatureThreshold) X(DeviceGetMinMaxFanSpeed) X(DeviceGetMaxClockInfo) X(DeviceGetMaxCustomerBoostClock) X(DeviceGetSupportedMemoryClocks) X(DeviceGetSupportedGraphicsClocks) X(DeviceGetEccMode) X(DeviceGetDefaultEccMode) X(DeviceGetTotalEccErrors) X(DeviceGetDetailedEccErrors) X(DeviceGetRemappedRows) X(DeviceGetTopologyCommonAncestor) X(DeviceOnSameBoard) X(DeviceGetP2PStatus) X(GpmQueryDeviceSupport) \
    X(DeviceGetPowerUsage) X(DeviceGetPowerManagementLimit) X(DeviceGetEnforcedPowerLimit) X(DeviceGetFanSpeed) X(DeviceGetPerformanceState) X(DeviceGetPowerState) X(DeviceGetComputeMode) X(DeviceGetPersistenceMode) X(DeviceGetCurrPcieLinkGeneration) X(DeviceGetTotalEnergyConsumption) X(DeviceGetMemoryInfo) X(DeviceGetMemoryInfo_v2) X(DeviceGetBAR1MemoryInfo) X(DeviceGetUtilizationRates) X(DeviceGetEncoderUtilization) X(DeviceGetEncoderStats) X(DeviceGetEncoderSessions) X(DeviceGetFBCStats) X(DeviceGetClockInfo) X(DeviceGetApplicationsClock) X(DeviceGetDefaultApplicationsClock) X(DeviceGetClock) X(DeviceGetCurrentClocksEventReasons) X(DeviceGetCurrentClocksThrottleReasons) X(DeviceGetSupportedClocksEventReasons) X(DeviceGetTemperature) X(DeviceGetTemperatureV) X(DeviceGetMarginTemperature) X(DeviceGetFanSpeed_v2) X(DeviceGetFanControlPolicy_v2) X(DeviceGetPcieThroughput) X(DeviceGetViolationStatus) X(DeviceGetSamples) \
    X(DeviceSetPowerManagementLimit) X(DeviceSetPowerManagementLimit_v2) X(DeviceSetGpuLockedClocks) X(DeviceResetGpuLockedClocks) X(DeviceSetMemoryLockedClocks) X(DeviceResetMemoryLockedClocks) X(DeviceSetComputeMode) X(DeviceSetPersistenceMode) X(DeviceSetApplicationsClocks) X(DeviceResetApplicationsClocks) \
    X(EventSetCreate) X(EventSetFree) X(DeviceGetSupportedEventTypes) X(DeviceRegisterEvents) X(EventSetWait) X(DeviceGetComputeRunningProcesses_v3) X(DeviceGetComputeRunningProcesses) X(DeviceGetMPSComputeRunningProcesses_v3) X(DeviceGetMPSComputeRunningProcesses) X(DeviceGetGraphicsRunningProcesses_v3) X(DeviceGetRunningProcessDetailList) X(DeviceGetProcessUtilization) X(DeviceGetProcessesUtilizationInfo) X(DeviceGetFieldValues) X(DeviceClearFieldValues) \
    X(DeviceGetMigMode) X(DeviceSetMigMode) X(DeviceGetMaxMigDeviceCount) X(DeviceGetMigDeviceHandleByIndex) X(DeviceIsMigDeviceHandle) X(DeviceGetDeviceHandleFromMigDeviceHandle) X(DeviceGetGpuInstanceId) X(DeviceGetComputeInstanceId) X(DeviceGetAttributes_v2) X(DeviceGetName) X(DeviceGetUUID) X(DeviceGetIndex) X(DeviceGetGpuInstanceProfileInfoV) X(DeviceGetGpuInstanceProfileInfoByIdV) X(DeviceGetGpuInstanceProfileInfo) X(DeviceGetGpuInstancePossiblePlacements) X(DeviceGetGpuInstanceRemainingCapacity) X(DeviceCreateGpuInstance) X(DeviceCreateGpuInstanceWithPlacement) X(GpuInstanceDestroy) X(DeviceGetGpuInstances) X(DeviceGetGpuInstanceById) X(GpuInstanceGetInfo) X(GpuInstanceGetComputeInstanceProfileInfo) X(GpuInstanceGetComputeInstanceProfileInfoV) X(GpuInstanceGetComputeInstanceRemainingCapacity) X(GpuInstanceGetComputeInstancePossiblePlacements) X(GpuInstanceCreateComputeInstance) X(GpuInstanceCreateComputeInstanceWithPlacement) X(GpuInstanceGetComputeInstances) X(GpuInstanceGetComputeInstanceById) X(ComputeInstanceDestroy) X(ComputeInstanceGetInfo)
#define DECLARE(name) nvmlReturn_t nvml##name();
CALLS(DECLARE)
const char *nvmlErrorString();
int cudaGetDeviceCount(int *count);
int cudaDeviceGetPCIBusId(char *to, int length, int index);

static nvmlDevice_t handle(unsigned int index) {
    nvmlDevice_t device = NULL;
    SAME(nvmlDeviceGetHandleByIndex(index, &device), 0);
    return device;
}

static void forget(void) {
    while (nvmlShutdown() == 0) {}
    for (int i = 0; i <= MOST_BOARDS; i++) if (boards[i].header) munmap((void *)boards[i].header, BOARD_FILE_BYTES), boards[i].header = NULL, boards[i].requests = NULL;
    for (int i = 0; i <= MOST_BOARDS; i++) { char path[64]; snprintf(path, sizeof path, "../gpu%d", i); unlink(path); }
    simulator_lives = answers = beats = may_write = may_read = 1, effective_user = 0, answer_result = answer_value = 0, dies_while_asked = 0;
}
static nvmlDevice_t fresh(unsigned int count) {
    forget();
    for (unsigned int i = 0; i < count; i++) put_board(i, count), fill_board(i);
    SAME(nvmlInit(), 0);
    return handle(0);
}

static int is_of_a_board(const char *name, const char *begins) {
    if (strncmp(name, "DeviceGetHandle", 15) == 0 || strcmp(name, "DeviceGetCount") == 0) return 0;
    return strncmp(name, begins, strlen(begins)) == 0;
}

/* What is no board is refused by every call of a board, and so is a place for the answer that is none. */
static void nothing_given(void) {
    nvmlDevice_t device = fresh(2);
    _Alignas(16) char room[65536] = {0};
#define REFUSES(name)                                                                                             \
    if (is_of_a_board(#name, "Device")) SAME(nvml##name(NULL, room, room, room, room, room) != 0, 1);             \
    if (is_of_a_board(#name, "DeviceGet")) SAME(nvml##name(device, NULL, NULL, NULL, NULL, NULL) != 0, 1);
    CALLS(REFUSES)
}

static unsigned int lines_with(const char *file, const char *text);

static void opening(void) {
    unsigned int count = 77;
    forget();
    SAME(nvmlInit(), NVML_ERROR_DRIVER_NOT_LOADED);
    SAME(nvmlShutdown(), NVML_ERROR_UNINITIALIZED), SAME(nvmlDeviceGetCount(&count), NVML_ERROR_UNINITIALIZED), SAME(count, 77);
    put_board(0, 1);
    may_read = 0, SAME(nvmlInit(), NVML_ERROR_NO_PERMISSION), may_read = 1;
    boards[0].header->magic++, SAME(nvmlInit(), NVML_ERROR_LIB_RM_VERSION_MISMATCH), boards[0].header->magic--;
    boards[0].header->version--, SAME(nvmlInit(), NVML_ERROR_LIB_RM_VERSION_MISMATCH), boards[0].header->version++;
    boards[0].header->presence = BOARD_STOPPED, SAME(nvmlInit(), NVML_ERROR_DRIVER_NOT_LOADED);
    /* A board that fell off the bus has a driver. */
    boards[0].header->presence = BOARD_LOST, SAME(nvmlInit(), 0), SAME(nvmlShutdown(), 0), boards[0].header->presence = BOARD_PRESENT;
    /* A heartbeat is believed for 0.2 s; until 20 s the process is asked for; then nobody lives. */
    const struct { uint64_t age_ms; int lives; unsigned int result; } hearts[] = {{0, 0, 0}, {190, 0, 0}, {210, 0, 9}, {210, 1, 0}, {210, 2, 0}, {19900, 1, 0}, {19900, 0, 9}, {20100, 1, 9}, {900000, 1, 9}};
    for (unsigned int i = 0; i < sizeof hearts / sizeof *hearts; i++) {
        boards[0].header->heartbeatNs = clock_ns - hearts[i].age_ms * 1000000u, simulator_lives = hearts[i].lives;
        SAME(nvmlInit(), hearts[i].result);
        if (hearts[i].result == 0) SAME(nvmlShutdown(), 0);
    }
    simulator_lives = 1, beat();
    truncate("../gpu0", BOARD_FILE_BYTES - 1), SAME(nvmlInit(), NVML_ERROR_DRIVER_NOT_LOADED);
    fresh(2);
    unsigned int mapped = lines_with("/proc/self/maps", "/gpu");
    SAME(nvmlInitWithFlags(0), 0), SAME(nvmlInit_v2(), 0), SAME(lines_with("/proc/self/maps", "/gpu"), mapped);
    SAME(nvmlShutdown(), 0), SAME(nvmlShutdown(), 0);
    SAME(nvmlDeviceGetCount(&count), 0), SAME(count, 2), SAME(nvmlDeviceGetCount(NULL), NVML_ERROR_INVALID_ARGUMENT);
    nvmlDevice_t device = NULL, first = handle(0);
    SAME(nvmlDeviceGetHandleByIndex(1, &device), 0), SAME(device != first, 1), SAME(nvmlDeviceGetHandleByIndex(2, &device), NVML_ERROR_INVALID_ARGUMENT);
    SAME(nvmlDeviceGetHandleByIndex(0, NULL), NVML_ERROR_INVALID_ARGUMENT);
    SAME(nvmlDeviceGetHandleByUUID("GPU-0", &device), 0), SAME(device == first, 1), SAME(nvmlDeviceGetHandleByUUID("GPU-7", &device), NVML_ERROR_NOT_FOUND);
    SAME(nvmlDeviceGetHandleByUUID(NULL, &device), 2), SAME(nvmlDeviceGetHandleByUUID("GPU-0", NULL), 2);
    const struct { const char *text; unsigned int result; } buses[] = {{"00000000:02:00.0", 0}, {"0:2:0.0", 0}, {"02:00.0", 0}, {"1:02:00.0", 6}, {"0:03:00.0", 6}, {"0:02:01.0", 6}, {"0:02:00.1", 6}, {"GPU", 2}, {NULL, 2}};
    for (unsigned int i = 0; i < sizeof buses / sizeof *buses; i++) {
        device = NULL, SAME(nvmlDeviceGetHandleByPciBusId(buses[i].text, &device), buses[i].result);
        if (buses[i].result == 0) SAME(device == handle(1), 1);
    }
    SAME(nvmlDeviceGetHandleByPciBusId("02:00.0", NULL), 2);
    SAME(nvmlDeviceGetHandleBySerial("1", &device), 6), SAME(nvmlDeviceGetHandleBySerial(NULL, &device), 2);
    SAME(nvmlUnitGetCount(&count), 0), SAME(count, 0), SAME(nvmlUnitGetCount(NULL), 2);
    unsigned int number;
    SAME(nvmlDeviceGetPowerUsage(NULL, &number), 2), SAME(nvmlDeviceGetPowerUsage((char *)first + 1, &number), 2), SAME(nvmlDeviceGetPowerUsage(&number, &number), 2);
    SAME(nvmlDeviceGetPowerUsage(first, NULL), 2);
    boards[0].header->presence = BOARD_LOST, SAME(nvmlDeviceGetPowerUsage(first, &number), NVML_ERROR_GPU_IS_LOST), SAME(nvmlDeviceGetHandleByIndex(0, &device), NVML_ERROR_GPU_IS_LOST);
    SAME(nvmlDeviceGetPowerUsage(handle(1), &number), 0), boards[0].header->presence = BOARD_PRESENT;
    boards[0].header->heartbeatNs = clock_ns - 21000000000ull, SAME(nvmlDeviceGetPowerUsage(first, &number), NVML_ERROR_GPU_IS_LOST), beat();
    SAME(nvmlShutdown(), 0), SAME(nvmlDeviceGetPowerUsage(first, &number), NVML_ERROR_UNINITIALIZED), SAME(nvmlShutdown(), NVML_ERROR_UNINITIALIZED);
    /* No more than the library has room for, and none where one of several is not to be had. */
    forget();
    for (unsigned int i = 0; i <= MOST_BOARDS; i++) put_board(i, MOST_BOARDS + 1);
    SAME(nvmlInit(), 0), SAME(nvmlDeviceGetCount(&count), 0), SAME(count, MOST_BOARDS);
    forget(), put_board(0, 2);
    mapped = lines_with("/proc/self/maps", "/gpu");
    SAME(nvmlInit(), NVML_ERROR_DRIVER_NOT_LOADED), SAME(nvmlDeviceGetCount(&count), 1);
    SAME(lines_with("/proc/self/maps", "/gpu"), mapped);
}

static void reading(void) {
    nvmlDevice_t device = fresh(1);
    unsigned int number;
    boards[0].state->powerAverageMw = 111111, tears_reads = 1;
    SAME(nvmlDeviceGetPowerUsage(device, &number), 0), SAME(number, 222222), SAME(tears_reads, 0);
    boards[0].header->sequence++, finishes_writing = 0;
    boards[0].header->heartbeatNs = clock_ns;
    /* The check at the begin asks the clock once; the second time is while the board is being written. */
    boards[0].state->powerAverageMw = 333333;
    finishes_writing = 1, SAME(nvmlDeviceGetPowerUsage(device, &number), 0), SAME(number, 333333), SAME(boards[0].header->sequence % 2, 0);
    struct board_state *state = boards[0].state;
    state->processCount = 100000, state->gpuInstanceCount = 100000, state->computeInstanceCount = 100000;
    for (unsigned int i = 0; i < MAX_PROCESSES; i++) state->processes[i].pid = i + 1;
    nvmlProcessInfo_t infos[MAX_PROCESSES];
    number = MAX_PROCESSES, SAME(nvmlDeviceGetComputeRunningProcesses_v3(device, &number, infos), 0), SAME(number, MAX_PROCESSES), SAME(infos[MAX_PROCESSES - 1].pid, MAX_PROCESSES);
    state->migCurrent = 1;
    nvmlGpuInstance_t *instances = malloc(MAX_MIG_INSTANCES * sizeof *instances);
    SAME(nvmlDeviceGetGpuInstances(device, 19, instances, &number), 0), SAME(number, MAX_MIG_INSTANCES);
    nvmlDevice_t mig;
    SAME(nvmlDeviceGetMigDeviceHandleByIndex(device, MAX_MIG_INSTANCES, &mig), 2);
    free(instances);
    SAME(nvmlDeviceGetHandleByUUID("MIG-none", &mig), NVML_ERROR_NOT_FOUND);
}

static unsigned int lines_with(const char *file, const char *text) {
    FILE *from = fopen(file, "r");
    char line[4096];
    unsigned int found = 0;
    while (from && fgets(line, sizeof line, from)) found += strstr(line, text) != NULL;
    if (from) fclose(from);
    return found;
}

/* A program that opens and closes the library for ever keeps neither files nor mappings. */
static void keeping_nothing(void) {
    fresh(2);
    char name[16];
    int before = dup(0);
    unsigned int mapped = lines_with("/proc/self/maps", "/gpu");
    for (int i = 0; i < 5; i++) {
        SAME(nvmlSystemGetProcessName(1, name, sizeof name), 0);
        SAME(nvmlShutdown(), 0), SAME(lines_with("/proc/self/maps", "/gpu"), mapped - 2), SAME(nvmlInit(), 0);
    }
    int after = dup(0);
    SAME(after, before + 1), close(before), close(after);
}

static unsigned int slots_taken(unsigned int board) {
    unsigned int taken = 0;
    for (int i = 0; i < REQUEST_SLOTS; i++) taken += boards[board].requests[i].owner != 0;
    return taken;
}

static void requests(void) {
    nvmlDevice_t device = fresh(2);
    struct board_identity *id = boards[0].identity;
    nvmlPowerValue_v2_t power = {STRUCT_VERSION(nvmlPowerValue_v2_t, 2), NVML_POWER_SCOPE_GPU, 31415};
#define ASKS(call, operation_, first_, second_)                                                                   \
    asked_count = 0, SAME(call, 0), SAME(asked_count, 1), SAME(asked.operation, operation_), SAME(asked.first, first_), \
        SAME(asked.second, second_), SAME(asked.owner, ASKER), SAME(slots_taken(0), 0)
    /* More often than there are slots. */
    for (int i = 0; i < REQUEST_SLOTS + 2; i++) ASKS(nvmlDeviceSetPowerManagementLimit(device, 200000 + i), OPERATION_SET_POWER_LIMIT, 200000 + i, 0);
    ASKS(nvmlDeviceSetPowerManagementLimit_v2(device, &power), OPERATION_SET_POWER_LIMIT, 31415, 0);
    ASKS(nvmlDeviceSetGpuLockedClocks(device, 900, 1200), OPERATION_LOCK_SM_CLOCK, 900, 1200);
    ASKS(nvmlDeviceResetGpuLockedClocks(device), OPERATION_RESET_SM_CLOCK, 0, 0);
    ASKS(nvmlDeviceSetMemoryLockedClocks(device, 5, 6), OPERATION_LOCK_MEM_CLOCK, 5, 6);
    ASKS(nvmlDeviceResetMemoryLockedClocks(device), OPERATION_RESET_MEM_CLOCK, 0, 0);
    ASKS(nvmlDeviceSetComputeMode(device, 3), OPERATION_SET_COMPUTE_MODE, 3, 0);
    ASKS(nvmlDeviceSetPersistenceMode(device, 1), OPERATION_SET_PERSISTENCE_MODE, 1, 0);
    ASKS(nvmlDeviceSetApplicationsClocks(device, 7, 8), OPERATION_SET_APPLICATION_CLOCKS, 7, 8);
    ASKS(nvmlDeviceResetApplicationsClocks(device), OPERATION_RESET_APPLICATION_CLOCKS, 0, 0);
    unsigned int activation = 0;
    answer_value = 19, ASKS(nvmlDeviceSetMigMode(device, 1, &activation), OPERATION_SET_MIG_MODE, 1, 0), SAME(activation, 19);
    /* Nothing is asked where the answer is known. */
    asked_count = 0;
    power.version++, SAME(nvmlDeviceSetPowerManagementLimit_v2(device, &power), 25), power.version--;
    power.powerScope = 1, SAME(nvmlDeviceSetPowerManagementLimit_v2(device, &power), 3), SAME(nvmlDeviceSetPowerManagementLimit_v2(device, NULL), 2);
    SAME(nvmlDeviceSetComputeMode(device, 1), 3), SAME(nvmlDeviceSetComputeMode(device, 4), 2), SAME(nvmlDeviceSetPersistenceMode(device, 2), 2), SAME(nvmlDeviceSetMigMode(device, 2, &activation), 2), SAME(nvmlDeviceSetMigMode(device, 1, NULL), 2);
    id->architecture = 6, SAME(nvmlDeviceSetMemoryLockedClocks(device, 5, 6), 3), SAME(nvmlDeviceResetMemoryLockedClocks(device), 3);
    id->architecture = 7, ASKS(nvmlDeviceResetMemoryLockedClocks(device), OPERATION_RESET_MEM_CLOCK, 0, 0), asked_count = 0;
    id->hasApplicationClocks = 0, SAME(nvmlDeviceSetApplicationsClocks(device, 7, 8), 3), SAME(nvmlDeviceResetApplicationsClocks(device), 3), id->hasApplicationClocks = 1;
    id->hasMig = 0, SAME(nvmlDeviceSetMigMode(device, 1, &activation), 3), id->hasMig = 1;
    SAME(asked_count, 0);
    /* Who may. */
    const struct { unsigned int privilege; uid_t user; int may; unsigned int result; } who[] = {{PRIVILEGE_ROOT, 0, 1, 0}, {PRIVILEGE_ROOT, 1000, 1, 4}, {PRIVILEGE_NOBODY, 0, 1, 4}, {PRIVILEGE_NOBODY, 1000, 1, 4}, {PRIVILEGE_EVERYONE, 1000, 1, 0}, {PRIVILEGE_EVERYONE, 0, 1, 0}};
    for (unsigned int i = 0; i < sizeof who / sizeof *who; i++) {
        boards[0].header->privilege = who[i].privilege, effective_user = who[i].user, asked_count = 0;
        SAME(nvmlDeviceSetPowerManagementLimit(device, 1), who[i].result), SAME(asked_count, who[i].result == 0);
    }
    boards[0].header->privilege = PRIVILEGE_ROOT, effective_user = 0;
    /* Refused by the board: told, and nothing is made of it. */
    activation = 5, answer_result = 23, answer_value = 77, SAME(nvmlDeviceSetMigMode(device, 1, &activation), 23), SAME(activation, 5), SAME(slots_taken(0), 0), answer_result = 0;
}

static void waiting(void) {
    nvmlDevice_t device = fresh(1);
    struct board_request *slots = boards[0].requests;
    slots[0].owner = 99, slots[0].sequence = slots[0].ack = 3;
    SAME(nvmlDeviceSetPowerManagementLimit(device, 5), 0), SAME(slots[0].owner, 99), SAME(slots_taken(0), 1), SAME(slots[1].sequence, 1), SAME(slots[1].first, 5);
    /* All taken: 20 s, then a timeout. */
    for (int i = 0; i < REQUEST_SLOTS; i++) slots[i].owner = 99;
    uint64_t began = clock_ns;
    SAME(nvmlDeviceSetPowerManagementLimit(device, 5), NVML_ERROR_TIMEOUT), SAME(clock_ns - began > 19900000000ull && clock_ns - began < 20100000000ull, 1), SAME(slots_taken(0), REQUEST_SLOTS);
    boards[0].header->presence = BOARD_PRESENT, dies_while_asked = 1, began = clock_ns;
    SAME(nvmlDeviceSetPowerManagementLimit(device, 5), NVML_ERROR_GPU_IS_LOST), SAME(clock_ns - began < 1000000000ull, 1);
    memset(slots, 0, REQUEST_SLOTS * sizeof *slots), boards[0].header->presence = BOARD_PRESENT, dies_while_asked = 0, answers = 0;
    began = clock_ns, SAME(nvmlDeviceSetPowerManagementLimit(device, 5), NVML_ERROR_TIMEOUT), SAME(clock_ns - began > 19900000000ull && clock_ns - began < 20100000000ull, 1), SAME(slots_taken(0), 0);
    dies_while_asked = 1, SAME(nvmlDeviceSetPowerManagementLimit(device, 5), NVML_ERROR_GPU_IS_LOST), SAME(slots_taken(0), 0);
    /* A file that may only be read. */
    forget(), put_board(0, 1), fill_board(0), may_write = 0;
    unsigned int number;
    SAME(nvmlInit(), 0), device = handle(0), SAME(nvmlDeviceGetPowerUsage(device, &number), 0), SAME(nvmlDeviceSetPowerManagementLimit(device, 5), NVML_ERROR_NO_PERMISSION);
    SAME(slots_taken(0), 0);
}

static void texts(nvmlDevice_t device) {
    nvmlReturn_t (*calls[])() = {nvmlDeviceGetName, nvmlDeviceGetUUID, nvmlDeviceGetVbiosVersion};
    const char *wanted[] = {boards[0].identity->name, boards[0].identity->uuid, boards[0].identity->vbiosVersion};
    for (int i = 0; i < 3; i++) {
        unsigned int needed = (unsigned int)strlen(wanted[i]) + 1;
        char *room = malloc(needed), *small = malloc(needed - 1);
        memset(room, 'x', needed), memset(small, 'x', needed - 1);
        SAME(calls[i](device, room, needed), 0), SAME_TEXT(room, wanted[i]), SAME(calls[i](device, small, needed - 1), 7), SAME(small[0], 'x'), SAME(calls[i](device, NULL, 96), 2);
        free(room), free(small);
    }
    char text[96];
    SAME(nvmlSystemGetDriverVersion(text, 6), 0), SAME_TEXT(text, "570.1"), SAME(nvmlSystemGetDriverVersion(text, 5), 7);
    SAME(nvmlSystemGetNVMLVersion(text, 96), 0), SAME_TEXT(text, "12.570.1");
    int version = 0;
    SAME(nvmlSystemGetCudaDriverVersion(&version), 0), SAME(version, boards[0].identity->cudaDriverVersion), SAME(nvmlSystemGetCudaDriverVersion(NULL), 2);
    nvmlSystemDriverBranchInfo_v1_t branch = {.version = STRUCT_VERSION(nvmlSystemDriverBranchInfo_v1_t, 1)};
    SAME(nvmlSystemGetDriverBranch(&branch, 80), 0), SAME_TEXT(branch.branch, "r570_00"), SAME(nvmlSystemGetDriverBranch(&branch, 7), 7), SAME(nvmlSystemGetDriverBranch(&branch, 8), 0), SAME(nvmlSystemGetDriverBranch(&branch, 4000), 0);
    branch.version = 1, SAME(nvmlSystemGetDriverBranch(&branch, 80), 25), SAME(nvmlSystemGetDriverBranch(NULL, 80), 2);
    SAME(nvmlSystemGetProcessName(503, text, 96), 0), SAME_TEXT(text, "worker 3"), SAME(nvmlSystemGetProcessName(503, text, 4), 0), SAME_TEXT(text, "wor");
    SAME(nvmlSystemGetProcessName(503, text, 0), 2), SAME(nvmlSystemGetProcessName(503, NULL, 9), 2), SAME(nvmlSystemGetProcessName(4000000, text, 96), 6);
    char *small = malloc(5);
    /* One of the system's, in a buffer that its name does not fit into. */
    SAME(nvmlSystemGetProcessName(1, small, 5), 0), SAME(strlen(small) < 5, 1), free(small);
    SAME_TEXT(nvmlErrorString(4), "Insufficient Permissions"), SAME_TEXT(nvmlErrorString(15), "GPU is lost"), SAME_TEXT(nvmlErrorString(998), "Unknown Error");
    nvmlPciInfo_t pci; nvmlPciInfo_v2_t pci2; nvmlPciInfo_v1_t pci1; nvmlPciInfoExt_v1_t ext = {.version = STRUCT_VERSION(nvmlPciInfoExt_v1_t, 1)};
    const struct board_identity *id = boards[0].identity;
    SAME(nvmlDeviceGetPciInfo_v3(device, &pci), 0), SAME_TEXT(pci.busIdLegacy, "0000:01:00.0"), SAME_TEXT(pci.busId, id->busId), SAME(pci.bus, 1), SAME(pci.domain, 0), SAME(pci.device, 0), SAME(pci.pciDeviceId, id->pciDeviceId), SAME(pci.pciSubSystemId, id->pciSubsystemId);
    SAME(nvmlDeviceGetPciInfo_v2(device, &pci2), 0), SAME_TEXT(pci2.busId, "0000:01:00.0"), SAME(pci2.bus, 1), SAME(pci2.pciDeviceId, id->pciDeviceId), SAME(pci2.pciSubSystemId, id->pciSubsystemId);
    SAME(nvmlDeviceGetPciInfo(device, &pci1), 0), SAME_TEXT(pci1.busId, "0000:01:00.0"), SAME(pci1.bus, 1), SAME(pci1.pciDeviceId, id->pciDeviceId);
    SAME(nvmlDeviceGetPciInfoExt(device, &ext), 0), SAME(ext.bus, 1), SAME(ext.baseClass, 3), SAME(ext.subClass, 2), SAME(ext.pciDeviceId, id->pciDeviceId), SAME(ext.pciSubSystemId, id->pciSubsystemId), SAME_TEXT(ext.busId, id->busId);
    ext.version++, SAME(nvmlDeviceGetPciInfoExt(device, &ext), 25), SAME(nvmlDeviceGetPciInfo_v3(device, NULL), 2);
}

static void numbers(nvmlDevice_t device) {
    const struct board_identity *id = boards[0].identity;
    struct board_state *s = boards[0].state;
    unsigned int n, m, k, l;
    const struct { nvmlReturn_t (*call)(); unsigned int wanted; } simple[] = {
        {nvmlDeviceGetMinorNumber, 0}, {nvmlDeviceGetBoardId, 256}, {nvmlDeviceGetMultiGpuBoard, 0}, {nvmlDeviceGetBrand, id->brand}, {nvmlDeviceGetArchitecture, 8}, {nvmlDeviceGetNumGpuCores, id->coreCount}, {nvmlDeviceGetMemoryBusWidth, id->memoryBusBits}, {nvmlDeviceGetBusType, 2}, {nvmlDeviceGetMaxPcieLinkGeneration, 4}, {nvmlDeviceGetGpuMaxPcieLinkGeneration, 4}, {nvmlDeviceGetMaxPcieLinkWidth, id->pcieWidthMax}, {nvmlDeviceGetCurrPcieLinkWidth, id->pcieWidthMax}, {nvmlDeviceGetPcieLinkMaxSpeed, 4}, {nvmlDeviceGetPcieReplayCounter, 0}, {nvmlDeviceGetIrqNum, 64}, {nvmlDeviceGetNumFans, 2}, {nvmlDeviceGetPowerManagementMode, 1}, {nvmlDeviceGetPowerManagementDefaultLimit, id->powerDefaultMw}, {nvmlDeviceGetDisplayMode, 0}, {nvmlDeviceGetVirtualizationMode, 0}, {nvmlDeviceGetPcieSpeed, 16000}, {nvmlDeviceGetMaxMigDeviceCount, 7}, {nvmlDeviceGetIndex, 0}, {nvmlDeviceIsMigDeviceHandle, 0}, {nvmlDeviceGetDefaultEccMode, 1},
        {nvmlDeviceGetPowerUsage, s->powerAverageMw}, {nvmlDeviceGetPowerManagementLimit, s->powerLimitMw}, {nvmlDeviceGetEnforcedPowerLimit, s->powerLimitMw}, {nvmlDeviceGetFanSpeed, s->fanPercent}, {nvmlDeviceGetPerformanceState, s->pstate}, {nvmlDeviceGetPowerState, s->pstate}, {nvmlDeviceGetComputeMode, s->computeMode}, {nvmlDeviceGetPersistenceMode, s->persistenceMode}, {nvmlDeviceGetCurrPcieLinkGeneration, s->pcieGen}};
    for (unsigned int i = 0; i < sizeof simple / sizeof *simple; i++) {
        n = 123456789, SAME(simple[i].call(device, &n), 0), SAME(simple[i].call(device, NULL), 2);
        if (n != simple[i].wanted && ++failures) printf("number %u is %u, not %u\n", i, n, simple[i].wanted);
    }
    SAME(nvmlDeviceGetCudaComputeCapability(device, &n, &m), 0), SAME(n, id->computeMajor), SAME(m, id->computeMinor), SAME(nvmlDeviceGetCudaComputeCapability(device, &n, NULL), 2);
    SAME(nvmlDeviceGetPowerManagementLimitConstraints(device, &n, &m), 0), SAME(n, id->powerMinMw), SAME(m, id->powerMaxMw), SAME(nvmlDeviceGetPowerManagementLimitConstraints(device, NULL, &m), 2);
    const unsigned int thresholds[] = {id->temperatureShutdownC, id->temperatureSlowdownC, 95, id->temperatureMaxC};
    for (unsigned int i = 0; i < 4; i++) SAME(nvmlDeviceGetTemperatureThreshold(device, i, &n), 0), SAME(n, thresholds[i]);
    SAME(nvmlDeviceGetTemperatureThreshold(device, 4, &n), 3), SAME(nvmlDeviceGetTemperatureThreshold(device, 7, &n), 3), SAME(nvmlDeviceGetTemperatureThreshold(device, 8, &n), 2);
    boards[0].identity->hasMemoryTemperature = 0, SAME(nvmlDeviceGetTemperatureThreshold(device, 2, &n), 3), boards[0].identity->hasMemoryTemperature = 1;
    SAME(nvmlDeviceGetMinMaxFanSpeed(device, &n, &m), 0), SAME(n, 30), SAME(m, 100);
    SAME(nvmlDeviceGetFanSpeed_v2(device, 1, &n), 0), SAME(n, s->fanPercent), SAME(nvmlDeviceGetFanSpeed_v2(device, 2, &n), 2), SAME(nvmlDeviceGetFanControlPolicy_v2(device, 1, &n), 0), SAME(n, 0), SAME(nvmlDeviceGetFanControlPolicy_v2(device, 2, &n), 2);
    boards[0].identity->fanCount = 0, SAME(nvmlDeviceGetMinMaxFanSpeed(device, &n, &m), 3), SAME(nvmlDeviceGetFanSpeed_v2(device, 0, &n), 3), SAME(nvmlDeviceGetFanControlPolicy_v2(device, 0, &n), 3), boards[0].identity->fanCount = 2;
    /* Clocks: graphics, SM, memory, video. 2130 MHz is the highest of all lists; video runs at nine tenths, in steps of 15. */
    const unsigned int top[] = {2130, 2130, 9000, 1920}, now[] = {s->smClockMhz, s->smClockMhz, s->memClockMhz, s->videoClockMhz};
    for (unsigned int type = 0; type < 4; type++) {
        SAME(nvmlDeviceGetMaxClockInfo(device, type, &n), 0), SAME(n, top[type]), SAME(nvmlDeviceGetMaxCustomerBoostClock(device, type, &n), 0), SAME(n, top[type]);
        SAME(nvmlDeviceGetClockInfo(device, type, &n), 0), SAME(n, now[type]), SAME(nvmlDeviceGetClock(device, type, 0, &n), 0), SAME(n, now[type]), SAME(nvmlDeviceGetClock(device, type, 3, &n), 0), SAME(n, top[type]);
        nvmlReturn_t expected = type == 3 ? 3 : 0;
        n = 1, SAME(nvmlDeviceGetApplicationsClock(device, type, &n), expected), SAME(n, type == 3 ? 1 : type == 2 ? s->applicationMemClockMhz : s->applicationSmClockMhz);
        n = 1, SAME(nvmlDeviceGetClock(device, type, 1, &n), expected), SAME(n, type == 3 ? 1 : type == 2 ? s->applicationMemClockMhz : s->applicationSmClockMhz);
        n = 1, SAME(nvmlDeviceGetDefaultApplicationsClock(device, type, &n), expected), SAME(n, type == 3 ? 1 : type == 2 ? 9000 : id->defaultSmClockMhz);
        n = 1, SAME(nvmlDeviceGetClock(device, type, 2, &n), expected), SAME(n, type == 3 ? 1 : type == 2 ? 9000 : id->defaultSmClockMhz);
    }
    SAME(nvmlDeviceGetClock(device, 0, 4, &n), 2), SAME(nvmlDeviceGetClockInfo(device, 4, &n), 2), SAME(nvmlDeviceGetMaxClockInfo(device, 4, &n), 2), SAME(nvmlDeviceGetMaxCustomerBoostClock(device, 4, &n), 2), SAME(nvmlDeviceGetMaxCustomerBoostClock(device, 0, NULL), 2), SAME(nvmlDeviceGetRemappedRows(device, &n, &m, NULL, &l), 2), SAME(nvmlDeviceGetApplicationsClock(device, 4, &n), 2);
    boards[0].identity->hasApplicationClocks = 0, SAME(nvmlDeviceGetApplicationsClock(device, 0, &n), 3), SAME(nvmlDeviceGetDefaultApplicationsClock(device, 0, &n), 3), SAME(nvmlDeviceGetMaxCustomerBoostClock(device, 0, &n), 3), boards[0].identity->hasApplicationClocks = 1;
    unsigned int *list = malloc(7 * sizeof *list);
    for (unsigned int c = 0; c < 3; c++) {
        n = 4 + c, SAME(nvmlDeviceGetSupportedGraphicsClocks(device, 9000 - 100 * c, &n, list), 7), SAME(n, 5 + c);
        SAME(nvmlDeviceGetSupportedGraphicsClocks(device, 9000 - 100 * c, &n, list), 0), SAME(n, 5 + c), SAME(list[0], 2100 + 15 * c), SAME(list[4], 2040 + 15 * c), SAME(nvmlDeviceGetSupportedGraphicsClocks(device, 9000 - 100 * c, &n, NULL), 2);
    }
    free(list), list = malloc(3 * sizeof *list);
    n = 2, SAME(nvmlDeviceGetSupportedMemoryClocks(device, &n, list), 7), SAME(n, 3), SAME(nvmlDeviceGetSupportedMemoryClocks(device, &n, list), 0), SAME(list[2], 8800), SAME(nvmlDeviceGetSupportedGraphicsClocks(device, 1, &n, list), 6), free(list);
    unsigned long long big;
    SAME(nvmlDeviceGetTotalEnergyConsumption(device, &big), 0), SAME(big, s->energyMj);
    nvmlMemory_t memory; nvmlMemory_v2_t memory2 = {.version = STRUCT_VERSION(nvmlMemory_v2_t, 2)}; nvmlBAR1Memory_t bar1; nvmlUtilization_t utilization; nvmlViolationTime_t time;
    SAME(nvmlDeviceGetMemoryInfo(device, &memory), 0), SAME(memory.total, id->memoryTotalBytes), SAME(memory.used, s->memoryUsedBytes), SAME(memory.free, id->memoryTotalBytes - s->memoryUsedBytes);
    SAME(nvmlDeviceGetMemoryInfo_v2(device, &memory2), 0), SAME(memory2.reserved, id->memoryReservedBytes), SAME(memory2.used, s->memoryUsedBytes - id->memoryReservedBytes), SAME(memory2.total - memory2.used - memory2.reserved, memory2.free), SAME(memory2.version, STRUCT_VERSION(nvmlMemory_v2_t, 2));
    memory2.version++, SAME(nvmlDeviceGetMemoryInfo_v2(device, &memory2), 25);
    SAME(nvmlDeviceGetBAR1MemoryInfo(device, &bar1), 0), SAME(bar1.bar1Total, id->bar1TotalBytes), SAME(bar1.bar1Used, 11 << 20), SAME(bar1.bar1Free, id->bar1TotalBytes - (11 << 20));
    SAME(nvmlDeviceGetUtilizationRates(device, &utilization), 0), SAME(utilization.gpu, s->smUtilPercent), SAME(utilization.memory, s->memUtilPercent);
    SAME(nvmlDeviceGetEncoderUtilization(device, &n, &m), 0), SAME(n, 0), SAME(m, 167000), SAME(nvmlDeviceGetEncoderUtilization(device, &n, NULL), 2);
    SAME(nvmlDeviceGetEncoderStats(device, &n, &m, &k), 0), SAME(n + m + k, 0), n = 9, SAME(nvmlDeviceGetEncoderSessions(device, &n, NULL), 0), SAME(n, 0);
    nvmlFBCStats_t frames = {1, 2, 3}; SAME(nvmlDeviceGetFBCStats(device, &frames), 0), SAME(frames.sessionsCount + frames.averageFPS + frames.averageLatency, 0);
    SAME(nvmlDeviceGetCurrentClocksEventReasons(device, &big), 0), SAME(big, s->eventReasons), SAME(nvmlDeviceGetCurrentClocksThrottleReasons(device, &big), 0), SAME(nvmlDeviceGetSupportedClocksEventReasons(device, &big), 0), SAME(big, 0x6f);
    nvmlTemperature_v1_t warm = {STRUCT_VERSION(nvmlTemperature_v1_t, 1), 0, 0}; nvmlMarginTemperature_v1_t margin = {STRUCT_VERSION(nvmlMarginTemperature_v1_t, 1), 0};
    SAME(nvmlDeviceGetTemperature(device, 0, &n), 0), SAME(n, s->temperatureC), SAME(nvmlDeviceGetTemperature(device, 1, &n), 2), SAME(nvmlDeviceGetTemperatureV(device, &warm), 0), SAME(warm.temperature, s->temperatureC);
    SAME(nvmlDeviceGetMarginTemperature(device, &margin), 0), SAME(margin.marginTemperature, (int)id->temperatureMaxC - (int)s->temperatureC);
    warm.version++, SAME(nvmlDeviceGetTemperatureV(device, &warm), 25), margin.version++, SAME(nvmlDeviceGetMarginTemperature(device, &margin), 25);
    SAME(nvmlDeviceGetPcieThroughput(device, 0, &n), 0), SAME(n, s->pcieTxKbps), SAME(nvmlDeviceGetPcieThroughput(device, 1, &n), 0), SAME(n, s->pcieRxKbps), SAME(nvmlDeviceGetPcieThroughput(device, 2, &n), 2);
    SAME(nvmlDeviceGetViolationStatus(device, 0, &time), 0), SAME(time.violationTime, s->violationPowerNs), SAME(time.referenceTime, s->timestampUs), SAME(nvmlDeviceGetViolationStatus(device, 1, &time), 0), SAME(time.violationTime, s->violationThermalNs), SAME(nvmlDeviceGetViolationStatus(device, 2, &time), 0), SAME(time.violationTime, 0), SAME(nvmlDeviceGetViolationStatus(device, 12, &time), 2);
    SAME(nvmlDeviceGetSamples(device, 0, 0ull, &n, &m, NULL), 6), SAME(m, 0);
    SAME(nvmlDeviceGetEccMode(device, &n, &m), 0), SAME(n + m, 2), SAME(nvmlDeviceGetTotalEccErrors(device, 1, 1, &big), 0), SAME(big, 0), SAME(nvmlDeviceGetTotalEccErrors(device, 2, 1, &big), 2), SAME(nvmlDeviceGetTotalEccErrors(device, 1, 2, &big), 2);
    nvmlEccErrorCounts_t counts = {1, 2, 3, 4}; SAME(nvmlDeviceGetDetailedEccErrors(device, 1, 1, &counts), 0), SAME(counts.l1Cache + counts.registerFile, 0), SAME(nvmlDeviceGetDetailedEccErrors(device, 2, 0, &counts), 2), SAME(nvmlDeviceGetDetailedEccErrors(device, 0, 2, &counts), 2);
    SAME(nvmlDeviceGetRemappedRows(device, &n, &m, &k, &l), 0), SAME(n + m + k + l, 0);
    boards[0].identity->hasEcc = 0, SAME(nvmlDeviceGetEccMode(device, &n, &m), 3), SAME(nvmlDeviceGetDefaultEccMode(device, &n), 3), SAME(nvmlDeviceGetTotalEccErrors(device, 1, 1, &big), 3), SAME(nvmlDeviceGetDetailedEccErrors(device, 1, 1, &counts), 3), SAME(nvmlDeviceGetRemappedRows(device, &n, &m, &k, &l), 3), boards[0].identity->hasEcc = 1;
    SAME(nvmlDeviceGetTopologyCommonAncestor(device, device, &n), 0), SAME(n, 0), SAME(nvmlDeviceGetTopologyCommonAncestor(device, handle(1), &n), 0), SAME(n, 40), SAME(nvmlDeviceGetTopologyCommonAncestor(device, NULL, &n), 2);
    SAME(nvmlDeviceOnSameBoard(device, device, &n), 0), SAME(n, 1), SAME(nvmlDeviceOnSameBoard(device, handle(1), &n), 0), SAME(n, 0), SAME(nvmlDeviceGetP2PStatus(device, handle(1), 0, &n), 0), SAME(n, 1);
    nvmlGpmSupport_t support = {1, 9}; SAME(nvmlGpmQueryDeviceSupport(device, &support), 0), SAME(support.isSupportedDevice, 0), support.version = 2, SAME(nvmlGpmQueryDeviceSupport(device, &support), 25);
    n = 9, SAME(nvmlDeviceGetMinorNumber(handle(1), &n), 0), SAME(n, 1), SAME(nvmlDeviceGetIrqNum(handle(1), &n), 0), SAME(n, 65), SAME(nvmlDeviceGetBoardId(handle(1), &n), 0), SAME(n, 512);
    /* What is not told is not supported; what could not be read is an error. */
    s->powerAverageMw = NOT_TOLD, SAME(nvmlDeviceGetPowerUsage(device, &n), 3), s->powerAverageMw = NOT_READ, SAME(nvmlDeviceGetPowerUsage(device, &n), 999);
    s->smUtilPercent = NOT_READ, SAME(nvmlDeviceGetUtilizationRates(device, &utilization), 999), s->temperatureC = NOT_READ, SAME(nvmlDeviceGetTemperature(device, 0, &n), 999), SAME(nvmlDeviceGetMarginTemperature(device, &margin), 25), margin.version--, SAME(nvmlDeviceGetMarginTemperature(device, &margin), 999), s->temperatureC = NOT_TOLD, warm.version--, SAME(nvmlDeviceGetTemperatureV(device, &warm), 3);
    s->energyMj = NOT_READ_64, SAME(nvmlDeviceGetTotalEnergyConsumption(device, &big), 999), s->memoryUsedBytes = NOT_READ_64, SAME(nvmlDeviceGetMemoryInfo(device, &memory), 999), memory2.version = STRUCT_VERSION(nvmlMemory_v2_t, 2), SAME(nvmlDeviceGetMemoryInfo_v2(device, &memory2), 999);
}

static void fields(nvmlDevice_t device) {
    const struct board_identity *id = boards[0].identity;
    struct board_state *s = boards[0].state;
    const struct { unsigned int id, result, type; uint64_t value; } wanted[] = {{1, 0, 1, 1}, {2, 0, 1, 1}, {3, 0, 3, 0}, {28, 0, 3, 0}, {29, 3, 0, 0}, {73, 3, 0, 0}, {74, 0, 3, s->violationPowerNs}, {75, 0, 3, s->violationThermalNs}, {76, 0, 3, 0}, {81, 0, 3, 0}, {82, 0, 1, s->memoryTemperatureC}, {83, 0, 3, s->energyMj}, {91, 0, 1, 0}, {94, 0, 1, 0}, {95, 0, 1, 0}, {141, 3, 0, 0}, {142, 0, 1, 0}, {145, 0, 1, 0}, {146, 3, 0, 0}, {184, 3, 0, 0}, {185, 0, 1, s->powerAverageMw}, {186, 0, 1, s->powerInstantMw}, {187, 0, 1, id->powerMinMw}, {188, 0, 1, id->powerMaxMw}, {189, 0, 1, id->powerDefaultMw}, {190, 0, 1, s->powerLimitMw}, {191, 0, 3, s->energyMj}, {192, 0, 1, s->powerLimitMw}, {193, 3, 0, 0}, {0, 2, 0, 0}};
    enum { COUNT = sizeof wanted / sizeof *wanted };
    nvmlFieldValue_t *values = calloc(COUNT, sizeof *values);
    for (int i = 0; i < COUNT; i++) values[i].fieldId = wanted[i].id, values[i].value.ullVal = 99, values[i].latencyUsec = 9;
    SAME(nvmlDeviceGetFieldValues(device, COUNT, values), 0);
    for (int i = 0; i < COUNT; i++) SAME(values[i].nvmlReturn * 1000 + wanted[i].id, wanted[i].result * 1000 + wanted[i].id), SAME(values[i].valueType, wanted[i].type), SAME(values[i].value.ullVal, wanted[i].value), SAME(values[i].timestamp, s->timestampUs), SAME(values[i].latencyUsec, 0);
    boards[0].identity->hasEcc = 0, s->powerInstantMw = NOT_TOLD, s->energyMj = NOT_READ_64;
    SAME(nvmlDeviceGetFieldValues(device, COUNT, values), 0);
    for (int i = 0; i < COUNT; i++) if (wanted[i].id <= 28 && wanted[i].id) SAME(values[i].nvmlReturn, 3); else if (wanted[i].id == 142 || wanted[i].id == 145 || wanted[i].id == 186) SAME(values[i].nvmlReturn, 3); else if (wanted[i].id == 83 || wanted[i].id == 191) SAME(values[i].nvmlReturn, 999);
    for (int i = 0; i < COUNT; i++) values[i].scopeId = 2;
    SAME(nvmlDeviceGetFieldValues(device, COUNT, values), 0);
    for (int i = 0; i < COUNT; i++) if (wanted[i].id >= 185 && wanted[i].id <= 192) SAME(values[i].nvmlReturn, 3);
    SAME(nvmlDeviceGetFieldValues(device, 0, values), 2), SAME(nvmlDeviceGetFieldValues(device, -1, values), 2), SAME(nvmlDeviceGetFieldValues(device, 1, NULL), 2);
    SAME(nvmlDeviceClearFieldValues(device, COUNT, values), 0), SAME(values[0].nvmlReturn, 3), SAME(values[COUNT - 1].nvmlReturn, 3), SAME(nvmlDeviceClearFieldValues(device, 0, values), 2);
    free(values);
}

static void processes(nvmlDevice_t device) {
    struct board_state *s = boards[0].state;
    const struct { nvmlReturn_t (*call)(); unsigned int count, second, size; } lists[] = {{nvmlDeviceGetComputeRunningProcesses_v3, 5, 501, sizeof(nvmlProcessInfo_t)}, {nvmlDeviceGetMPSComputeRunningProcesses_v3, 4, 502, sizeof(nvmlProcessInfo_t)}, {nvmlDeviceGetComputeRunningProcesses, 5, 501, sizeof(nvmlProcessInfo_v1_t)}, {nvmlDeviceGetMPSComputeRunningProcesses, 4, 502, sizeof(nvmlProcessInfo_v1_t)}};
    for (int i = 0; i < 4; i++) {
        unsigned int n = 0;
        char *room = malloc(lists[i].count * lists[i].size);
        SAME(lists[i].call(device, &n, NULL), 7), SAME(n, lists[i].count), n--, SAME(lists[i].call(device, &n, room), 7), SAME(n, lists[i].count), SAME(lists[i].call(device, &n, NULL), 2), SAME(lists[i].call(device, NULL, room), 2);
        SAME(lists[i].call(device, &n, room), 0), SAME(n, lists[i].count), SAME(*(unsigned int *)(void *)(room + lists[i].size), lists[i].second), SAME(((nvmlProcessInfo_v1_t *)(void *)(room + lists[i].size))->usedGpuMemory, (lists[i].second - 499) << 20);
        if (i < 2) SAME(((nvmlProcessInfo_t *)(void *)room)->gpuInstanceId, NO_INSTANCE), SAME(((nvmlProcessInfo_t *)(void *)room)->computeInstanceId, NO_INSTANCE);
        free(room);
    }
    unsigned int n = 9;
    SAME(nvmlDeviceGetGraphicsRunningProcesses_v3(device, &n, NULL), 0), SAME(n, 0);
    nvmlProcessDetailList_v1_t details = {STRUCT_VERSION(nvmlProcessDetailList_v1_t, 1), 2, 3, malloc(4 * sizeof(nvmlProcessDetail_v1_t))};
    SAME(nvmlDeviceGetRunningProcessDetailList(device, &details), 7), SAME(details.numProcArrayEntries, 4), SAME(nvmlDeviceGetRunningProcessDetailList(device, &details), 0), SAME(details.procArray[1].pid, 502), SAME(details.procArray[1].usedGpuMemory, 3 << 20), SAME(details.procArray[3].pid, 504), SAME(details.procArray[3].gpuInstanceId, NO_INSTANCE);
    details.mode = 1, SAME(nvmlDeviceGetRunningProcessDetailList(device, &details), 0), SAME(details.numProcArrayEntries, 0), details.mode = 0, SAME(nvmlDeviceGetRunningProcessDetailList(device, &details), 7), SAME(details.numProcArrayEntries, 5), details.mode = 3, SAME(nvmlDeviceGetRunningProcessDetailList(device, &details), 2), details.mode = 0, details.version++, SAME(nvmlDeviceGetRunningProcessDetailList(device, &details), 25), free(details.procArray);
    nvmlProcessUtilizationSample_t *samples = malloc(5 * sizeof *samples);
    n = 4, SAME(nvmlDeviceGetProcessUtilization(device, samples, &n, 0ull), 7), SAME(n, 5), SAME(nvmlDeviceGetProcessUtilization(device, NULL, &n, 0ull), 7), SAME(nvmlDeviceGetProcessUtilization(device, samples, &n, (unsigned long long)s->timestampUs - 1), 0), SAME(samples[4].pid, 504), SAME(samples[4].smUtil, 14), SAME(samples[4].memUtil, 24), SAME(samples[4].timeStamp, s->timestampUs), SAME(samples[4].encUtil + samples[4].decUtil, 0);
    SAME(nvmlDeviceGetProcessUtilization(device, samples, &n, (unsigned long long)s->timestampUs), 6), SAME(n, 0), free(samples);
    nvmlProcessesUtilizationInfo_v1_t info = {STRUCT_VERSION(nvmlProcessesUtilizationInfo_v1_t, 1), 4, 0, malloc(5 * sizeof(nvmlProcessUtilizationInfo_v1_t))};
    SAME(nvmlDeviceGetProcessesUtilizationInfo(device, &info), 7), SAME(info.processSamplesCount, 5), SAME(nvmlDeviceGetProcessesUtilizationInfo(device, &info), 0), SAME(info.procUtilArray[4].pid, 504), SAME(info.procUtilArray[4].smUtil, 14), SAME(info.procUtilArray[4].memUtil, 24), SAME(info.procUtilArray[4].timeStamp, s->timestampUs), SAME(info.lastSeenTimeStamp, s->timestampUs), SAME(nvmlDeviceGetProcessesUtilizationInfo(device, &info), 6), SAME(info.processSamplesCount, 0);
    info.version++, SAME(nvmlDeviceGetProcessesUtilizationInfo(device, &info), 25), free(info.procUtilArray);
    s->processCount = 0, n = 5, SAME(nvmlDeviceGetProcessUtilization(device, samples, &n, 0ull), 6), info.version--, info.lastSeenTimeStamp = 0, SAME(nvmlDeviceGetProcessesUtilizationInfo(device, &info), 6), n = 0, SAME(nvmlDeviceGetComputeRunningProcesses_v3(device, &n, NULL), 0), SAME(nvmlDeviceGetComputeRunningProcesses(device, &n, NULL), 0);
}

static void happens(unsigned int board, uint64_t type, uint64_t data) {
    struct board_events *events = boards[board].events;
    events->events[events->count % EVENT_SLOTS] = (struct board_event){type, data}, events->count++;
}
static void events(nvmlDevice_t device) {
    nvmlDevice_t other = handle(1);
    unsigned long long types = 0;
    nvmlEventSet_t set = NULL;
    nvmlEventData_t data;
    SAME(nvmlDeviceGetSupportedEventTypes(device, &types), 0), SAME(types, 0x1f), boards[0].identity->hasEcc = 0, SAME(nvmlDeviceGetSupportedEventTypes(device, &types), 0), SAME(types, 0x1c), SAME(nvmlDeviceGetSupportedEventTypes(device, NULL), 2);
    SAME(nvmlEventSetCreate(NULL), 2), SAME(nvmlEventSetCreate(&set), 0), happens(0, EVENT_XID, 1);
    SAME(nvmlDeviceRegisterEvents(device, 1ull, set), 3), SAME(nvmlDeviceRegisterEvents(device, 8ull, NULL), 2), SAME(nvmlDeviceRegisterEvents(device, 8ull, set), 0), SAME(nvmlEventSetWait(set, &data, 0), NVML_ERROR_TIMEOUT);
    uint64_t began = clock_ns;
    SAME(nvmlEventSetWait(set, &data, 95), NVML_ERROR_TIMEOUT), SAME((clock_ns - began) / 1000000, 95), SAME(nvmlEventSetWait(NULL, &data, 0), 2), SAME(nvmlEventSetWait(set, NULL, 0), 2);
    happens(0, EVENT_CLOCK, 2), happens(1, EVENT_XID, 3), happens(0, EVENT_XID, 4), happens(0, EVENT_XID, 5);
    SAME(nvmlEventSetWait(set, &data, 10), 0), SAME(data.eventData, 4), SAME(data.eventType, 8), SAME(data.device == device, 1), SAME(data.gpuInstanceId, NO_INSTANCE), SAME(data.computeInstanceId, NO_INSTANCE), SAME(nvmlEventSetWait(set, &data, 10), 0), SAME(data.eventData, 5), SAME(nvmlEventSetWait(set, &data, 10), NVML_ERROR_TIMEOUT);
    /* A second registration adds, and forgets nothing that happened between the two. */
    happens(0, EVENT_CLOCK, 6), SAME(nvmlDeviceRegisterEvents(device, 16ull, set), 0), SAME(nvmlDeviceRegisterEvents(other, 8ull, set), 0), SAME(nvmlEventSetWait(set, &data, 10), 0), SAME(data.eventData, 6);
    happens(1, EVENT_XID, 7), SAME(nvmlEventSetWait(set, &data, 10), 0), SAME(data.eventData, 7), SAME(data.device == other, 1);
    for (unsigned int i = 0; i < EVENT_SLOTS + 3; i++) happens(0, EVENT_XID, 100 + i);
    SAME(nvmlEventSetWait(set, &data, 10), 0), SAME(data.eventData, 103);
    for (unsigned int i = 1; i < EVENT_SLOTS; i++) SAME(nvmlEventSetWait(set, &data, 10), 0), SAME(data.eventData, 103 + i);
    SAME(nvmlEventSetWait(set, &data, 10), NVML_ERROR_TIMEOUT);
    happens(0, EVENT_XID, 79), boards[0].header->presence = BOARD_LOST, SAME(nvmlEventSetWait(set, &data, 10), 0), SAME(data.eventData, 79), SAME(nvmlEventSetWait(set, &data, 10), NVML_ERROR_GPU_IS_LOST), boards[0].header->presence = BOARD_PRESENT;
    SAME(nvmlEventSetFree(NULL), 2), SAME(nvmlEventSetFree(set), 0);
}

static void parts(nvmlDevice_t board) {
    unsigned int n, m;
    nvmlGpuInstance_t small, big, got[7];
    SAME(nvmlDeviceGetMigMode(board, &n, &m), 0), SAME(n + m, 0), SAME(nvmlDeviceGetGpuInstanceById(board, 9, &small), 3), SAME(nvmlDeviceGetGpuInstanceRemainingCapacity(board, 19, &n), 3), SAME(nvmlDeviceGetGpuInstances(board, 19, got, &n), 3);
    divide(), boards[0].state->migPending = 0;
    SAME(nvmlDeviceGetMigMode(board, &n, &m), 0), SAME(n, 1), SAME(m, 0);
    nvmlGpuInstanceProfileInfo_t info; nvmlGpuInstanceProfileInfo_v2_t info2 = {.version = STRUCT_VERSION(nvmlGpuInstanceProfileInfo_v2_t, 2)}; nvmlGpuInstanceProfileInfo_v3_t info3 = {.version = STRUCT_VERSION(nvmlGpuInstanceProfileInfo_v3_t, 3)};
#define FOUR_G(i) SAME(i.id, 5), SAME(i.sliceCount, 4), SAME(i.instanceCount, 1), SAME(i.multiprocessorCount, 66), SAME(i.copyEngineCount, 5), SAME(i.decoderCount, 6), SAME(i.jpegCount, 7), SAME(i.ofaCount, 8), SAME(i.memorySizeMB, 40192)
    SAME(nvmlDeviceGetGpuInstanceProfileInfo(board, 3, &info), 0), FOUR_G(info), SAME(nvmlDeviceGetGpuInstanceProfileInfo(board, 1, &info), 3), SAME(nvmlDeviceGetGpuInstanceProfileInfo(board, 17, &info), 2);
    SAME(nvmlDeviceGetGpuInstanceProfileInfoV(board, 3, &info2), 0), FOUR_G(info2), SAME_TEXT(info2.name, "MIG 4g.40gb"), SAME(nvmlDeviceGetGpuInstanceProfileInfoV(board, 3, &info3), 0), FOUR_G(info3), SAME_TEXT(info3.name, "MIG 4g.40gb"), SAME(nvmlDeviceGetGpuInstanceProfileInfoByIdV(board, 5, &info3), 0), FOUR_G(info3), SAME(nvmlDeviceGetGpuInstanceProfileInfoByIdV(board, 4, &info3), 3), SAME(nvmlDeviceGetGpuInstanceProfileInfoV(board, 17, &info3), 2);
    info2.version++, SAME(nvmlDeviceGetGpuInstanceProfileInfoV(board, 3, &info2), 25);
    nvmlGpuInstancePlacement_t *places = malloc(2 * sizeof *places);
    n = 1, SAME(nvmlDeviceGetGpuInstancePossiblePlacements(board, 5, places, &n), 7), SAME(n, 2), SAME(nvmlDeviceGetGpuInstancePossiblePlacements(board, 5, NULL, &n), 0), SAME(nvmlDeviceGetGpuInstancePossiblePlacements(board, 5, places, &n), 0), SAME(places[1].start, 4), SAME(places[1].size, 4), SAME(nvmlDeviceGetGpuInstancePossiblePlacements(board, 4, places, &n), 2), free(places);
    /* Slices 0 to 3 and 6 are taken. */
    SAME(nvmlDeviceGetGpuInstanceRemainingCapacity(board, 19, &n), 0), SAME(n, 2), SAME(nvmlDeviceGetGpuInstanceRemainingCapacity(board, 5, &n), 0), SAME(n, 0), boards[0].state->gpuInstances[0].start = 3, boards[0].state->gpuInstances[1].start = 9, SAME(nvmlDeviceGetGpuInstanceRemainingCapacity(board, 5, &n), 0), SAME(n, 1), boards[0].state->gpuInstances[0].start = 4, SAME(nvmlDeviceGetGpuInstanceRemainingCapacity(board, 5, &n), 0), SAME(n, 1), divide();
    SAME(nvmlDeviceGetGpuInstanceById(board, 9, &small), 0), SAME(nvmlDeviceGetGpuInstanceById(board, 2, &big), 0), SAME(nvmlDeviceGetGpuInstanceById(board, 3, &big), 6), SAME(nvmlDeviceGetGpuInstances(board, 5, got, &n), 0), SAME(n, 1), SAME(got[0] == big, 1), SAME(nvmlDeviceGetGpuInstances(board, 4, got, &n), 2);
    nvmlGpuInstanceInfo_t about; SAME(nvmlGpuInstanceGetInfo(big, &about), 0), SAME(about.device == board, 1), SAME(about.id, 2), SAME(about.profileId, 5), SAME(about.placement.start, 0), SAME(about.placement.size, 4), SAME(nvmlGpuInstanceGetInfo(small, &about), 0), SAME(about.placement.start, 6);
    SAME(nvmlGpuInstanceGetInfo(NULL, &about), 2), SAME(nvmlGpuInstanceGetInfo(&n, &about), 2), SAME(nvmlGpuInstanceGetInfo((char *)big + 16, &about), 2), SAME(nvmlGpuInstanceGetInfo(big, NULL), 2);
    /* Compute instances: 1, 2 and 4 of 4 slices, not 3 and not 7. */
    nvmlComputeInstanceProfileInfo_t ci; nvmlComputeInstanceProfileInfo_v2_t ci2 = {.version = STRUCT_VERSION(nvmlComputeInstanceProfileInfo_v2_t, 2)}; nvmlComputeInstanceProfileInfo_v3_t ci3 = {.version = STRUCT_VERSION(nvmlComputeInstanceProfileInfo_v3_t, 3), .capabilities = 9};
    const struct { unsigned int slices, result, sms, capacity, places; const char *name; } sizes[] = {{1, 0, 16, 1, 4, "MIG 1c.4g.40gb"}, {2, 0, 32, 0, 2, "MIG 2c.4g.40gb"}, {3, 3, 0, 0, 0, ""}, {4, 0, 66, 0, 1, "MIG 4g.40gb"}, {7, 3, 0, 0, 0, ""}};
    for (unsigned int i = 0; i < 5; i++) {
        SAME(nvmlGpuInstanceGetComputeInstanceProfileInfo(big, i, 0, &ci), sizes[i].result), SAME(nvmlGpuInstanceGetComputeInstanceProfileInfoV(big, i, 0, &ci2), sizes[i].result), SAME(nvmlGpuInstanceGetComputeInstanceProfileInfoV(big, i, 0, &ci3), sizes[i].result), SAME(nvmlGpuInstanceGetComputeInstanceRemainingCapacity(big, i, &n), sizes[i].result);
        SAME(nvmlGpuInstanceCreateComputeInstance(big, i, got), sizes[i].result ? 2 : 0), SAME(nvmlGpuInstanceGetComputeInstances(big, i, got, &m), sizes[i].result ? 2 : 0);
        if (sizes[i].result) continue;
        SAME(ci.id, i), SAME(ci.sliceCount, sizes[i].slices), SAME(ci.instanceCount, sizes[i].places), SAME(ci.multiprocessorCount, sizes[i].sms), SAME(ci.sharedCopyEngineCount, 5), SAME(ci.sharedDecoderCount, 6), SAME(ci.sharedJpegCount, 7), SAME(ci.sharedOfaCount, 8), SAME(n, sizes[i].capacity), SAME_TEXT(ci2.name, sizes[i].name), SAME(ci2.multiprocessorCount, sizes[i].sms), SAME_TEXT(ci3.name, sizes[i].name), SAME(ci3.capabilities, 0), SAME(m, i < 2);
        nvmlComputeInstancePlacement_t *where = malloc(sizes[i].places * sizeof *where);
        n = sizes[i].places - 1, SAME(nvmlGpuInstanceGetComputeInstancePossiblePlacements(big, i, where, &n), 7), SAME(n, sizes[i].places), SAME(nvmlGpuInstanceGetComputeInstancePossiblePlacements(big, i, where, &n), 0), SAME(where[n - 1].start, 4 - sizes[i].slices), SAME(where[n - 1].size, sizes[i].slices), SAME(nvmlGpuInstanceGetComputeInstancePossiblePlacements(big, i, NULL, &n), 0), free(where);
    }
    SAME(nvmlGpuInstanceGetComputeInstanceProfileInfo(big, 8, 0, &ci), 2), SAME(nvmlGpuInstanceGetComputeInstanceProfileInfo(big, 5, 0, &ci), 3), SAME(nvmlGpuInstanceGetComputeInstanceProfileInfo(big, 0, 1, &ci), 2), SAME(nvmlGpuInstanceGetComputeInstanceProfileInfoV(big, 8, 0, &ci2), 2), SAME(nvmlGpuInstanceGetComputeInstanceProfileInfoV(big, 0, 1, &ci2), 2), SAME(nvmlGpuInstanceGetComputeInstanceProfileInfoV(big, 0, 0, NULL), 2), SAME(nvmlGpuInstanceCreateComputeInstance(big, 5, got), 2), ci2.version++, SAME(nvmlGpuInstanceGetComputeInstanceProfileInfoV(big, 0, 0, &ci2), 25);
    nvmlComputeInstance_t compute; nvmlComputeInstanceInfo_t of;
    SAME(nvmlGpuInstanceGetComputeInstanceById(big, 1, &compute), 0), SAME(nvmlGpuInstanceGetComputeInstanceById(big, 2, &compute), 6), SAME(nvmlComputeInstanceGetInfo(compute, &of), 0), SAME(of.device == board, 1), SAME(of.gpuInstance == big, 1), SAME(of.id, 1), SAME(of.profileId, 1), SAME(of.placement.start, 2), SAME(of.placement.size, 2), SAME(nvmlComputeInstanceGetInfo(NULL, &of), 2), SAME(nvmlComputeInstanceGetInfo(&n, &of), 2), SAME(nvmlComputeInstanceGetInfo(compute, NULL), 2);
    answer_value = 4;
    const nvmlGpuInstancePlacement_t at = {4, 1}; const nvmlComputeInstancePlacement_t at2 = {1, 1};
    nvmlGpuInstance_t made; nvmlComputeInstance_t part;
    ASKS(nvmlDeviceCreateGpuInstance(board, 19, &made), OPERATION_CREATE_GPU_INSTANCE, 19, ANY_PLACEMENT), SAME(nvmlDeviceGetGpuInstanceById(board, 4, &made), 6);
    ASKS(nvmlDeviceCreateGpuInstanceWithPlacement(board, 19, &at, &made), OPERATION_CREATE_GPU_INSTANCE, 19, 4), ASKS(nvmlGpuInstanceDestroy(small), OPERATION_DESTROY_GPU_INSTANCE, 9, 0), SAME(nvmlDeviceCreateGpuInstance(board, 19, NULL), 2), SAME(nvmlDeviceCreateGpuInstanceWithPlacement(board, 19, NULL, &made), 2), SAME(nvmlGpuInstanceDestroy(NULL), 2);
    ASKS(nvmlGpuInstanceCreateComputeInstance(big, 1, &part), OPERATION_CREATE_COMPUTE_INSTANCE, 2, 2), SAME(asked.third, ANY_PLACEMENT), ASKS(nvmlGpuInstanceCreateComputeInstanceWithPlacement(big, 0, &at2, &part), OPERATION_CREATE_COMPUTE_INSTANCE, 2, 1), SAME(asked.third, 1), SAME(nvmlGpuInstanceCreateComputeInstanceWithPlacement(big, 0, NULL, &part), 2), SAME(nvmlGpuInstanceCreateComputeInstance(big, 0, NULL), 2);
    ASKS(nvmlComputeInstanceDestroy(compute), OPERATION_DESTROY_COMPUTE_INSTANCE, 2, 1), SAME(nvmlComputeInstanceDestroy(NULL), 2);
    made = NULL, answer_result = 23, SAME(nvmlDeviceCreateGpuInstance(board, 19, &made), 23), SAME(made == NULL, 1), part = NULL, SAME(nvmlGpuInstanceCreateComputeInstance(big, 1, &part), 23), SAME(part == NULL, 1), answer_result = 0;
    /* MIG devices are asked as boards are. */
    /* Handles that nobody was given, between those that somebody was. */
    SAME(nvmlComputeInstanceGetInfo((void *)((char *)compute + 96), &of), 2), SAME(nvmlComputeInstanceDestroy((void *)((char *)compute + 96)), 2), SAME(nvmlGpuInstanceGetInfo((void *)((char *)big + 16), &about), 2);
    nvmlDevice_t mig, back; char text[96]; nvmlMemory_t memory; nvmlDeviceAttributes_t attributes;
    SAME(nvmlDeviceGetMigDeviceHandleByIndex(board, 3, &mig), 6), SAME(nvmlDeviceGetMigDeviceHandleByIndex(board, 7, &mig), 2), SAME(nvmlDeviceGetMigDeviceHandleByIndex(board, 2, &mig), 0), SAME(nvmlDeviceIsMigDeviceHandle(mig, &n), 0), SAME(n, 1), SAME(nvmlDeviceIsMigDeviceHandle(mig, NULL), 2), SAME(nvmlDeviceGetHandleByUUID("MIG-c", &back), 0), SAME(back == mig, 1), SAME(nvmlDeviceGetDeviceHandleFromMigDeviceHandle(mig, &back), 0), SAME(back == board, 1), SAME(nvmlDeviceGetDeviceHandleFromMigDeviceHandle(board, &back), 3);
    SAME(nvmlDeviceGetName(mig, text, 96), 0), SAME_TEXT(text, "Board 0 MIG 2c.4g.40gb"), SAME(nvmlDeviceGetUUID(mig, text, 6), 0), SAME_TEXT(text, "MIG-c"), SAME(nvmlDeviceGetUUID(mig, text, 5), 7), SAME(nvmlDeviceGetIndex(mig, &n), 0), SAME(n, 2), n = 77, SAME(nvmlDeviceGetGpuInstanceId(mig, &n), 0), SAME(n, 2), SAME(nvmlDeviceGetComputeInstanceId(mig, &n), 0), SAME(n, 1), SAME(nvmlDeviceGetGpuInstanceId(board, &n), 3);
    SAME(nvmlDeviceGetAttributes_v2(mig, &attributes), 0), SAME(attributes.multiprocessorCount, 32), SAME(attributes.sharedCopyEngineCount, 5), SAME(attributes.sharedDecoderCount, 6), SAME(attributes.sharedJpegCount, 7), SAME(attributes.sharedOfaCount, 8), SAME(attributes.gpuInstanceSliceCount, 4), SAME(attributes.computeInstanceSliceCount, 2), SAME(attributes.memorySizeMB, 40192);
    SAME(nvmlDeviceGetMemoryInfo(mig, &memory), 0), SAME(memory.total, 40192ll << 20), SAME(memory.used, 228 << 20), SAME(memory.free, memory.total - memory.used), SAME(nvmlDeviceGetPowerUsage(mig, &n), 3), SAME(nvmlDeviceSetPowerManagementLimit(mig, 1), 3), SAME(nvmlDeviceGetCudaComputeCapability(mig, &n, &m), 0);
    nvmlProcessInfo_t running; n = 1, SAME(nvmlDeviceGetComputeRunningProcesses_v3(mig, &n, &running), 0), SAME(running.pid, 504), SAME(running.gpuInstanceId, 2), SAME(running.computeInstanceId, 1);
    boards[0].state->computeInstanceCount = 2, SAME(nvmlDeviceGetUUID(mig, text, 96), 6), SAME(nvmlComputeInstanceGetInfo(compute, &of), 6), boards[0].state->gpuInstanceCount = 1, SAME(nvmlGpuInstanceGetInfo(big, &about), 6);
    boards[0].identity->hasMig = 0, SAME(nvmlDeviceGetMigMode(board, &n, &m), 3), SAME(nvmlDeviceGetMaxMigDeviceCount(board, &n), 0), SAME(n, 0), SAME(nvmlDeviceGetMigDeviceHandleByIndex(board, 0, &mig), 3);
}

/* They open the library for themselves, whether the program has or not, and close it again. */
static void cuda_shim(void) {
    int count = 77;
    char bus_id[16] = "?";
    forget();
    SAME(cudaGetDeviceCount(&count), 100), SAME(count, 0), SAME(cudaDeviceGetPCIBusId(bus_id, 16, 0), 100), SAME_TEXT(bus_id, "?");
    SAME(cudaGetDeviceCount(NULL), 1);
    fresh(3);
    SAME(cudaGetDeviceCount(&count), 0), SAME(count, 3), SAME(cudaDeviceGetPCIBusId(bus_id, 13, 2), 0), SAME_TEXT(bus_id, "0000:03:00.0");
    for (int length = -1; length < 13; length++) {
        char *exactly = malloc(length > 0 ? (size_t)length : 1);
        SAME(cudaDeviceGetPCIBusId(exactly, length, 0), 1), free(exactly);
    }
    SAME(cudaDeviceGetPCIBusId(NULL, 16, 0), 1), SAME(cudaDeviceGetPCIBusId(bus_id, 16, 3), 101), SAME(cudaDeviceGetPCIBusId(bus_id, 16, -1), 101);
    SAME(nvmlShutdown(), 0), SAME(nvmlShutdown(), NVML_ERROR_UNINITIALIZED);
    SAME(cudaGetDeviceCount(&count), 0), SAME(count, 3), SAME(cudaDeviceGetPCIBusId(bus_id, 16, 1), 0), SAME(nvmlShutdown(), NVML_ERROR_UNINITIALIZED);
}

/* Arguments drawn at random; a buffer is as long as the call is told, and lies where one byte beyond it is noticed. */
static void random_calls(unsigned int sequences) {
    for (unsigned int sequence = 0; sequence < sequences; sequence++) {
        nvmlDevice_t device = fresh(2);
        if (draw(2)) divide();
        effective_user = draw(2) ? 0 : 1000, answer_result = draw(4) ? 0 : 23, answer_value = draw(7);
        nvmlEventSet_t set; nvmlGpuInstance_t instance = NULL; nvmlComputeInstance_t compute = NULL;
        nvmlEventSetCreate(&set);
        for (unsigned int step = 0; step < 40; step++) {
            unsigned int n = draw(9), count = n, number, other;
            nvmlDevice_t of = draw(8) ? device : draw(2) ? NULL : (void *)&number;
            char *text = n ? malloc(n) : NULL;
            nvmlProcessInfo_t *infos = calloc(n + !n, sizeof *infos);
            unsigned int *list = calloc(n + !n, sizeof *list);
            nvmlFieldValue_t *values = calloc(n + !n, sizeof *values);
            unsigned long long big;
            for (unsigned int i = 0; i < n; i++) values[i].fieldId = draw(200), values[i].scopeId = draw(3);
            nvmlReturn_t result = 0;
            switch (draw(24)) {
            case 0: result = nvmlDeviceGetName(of, text, n); break;
            case 1: result = nvmlDeviceGetUUID(of, text, n); break;
            case 2: result = nvmlSystemGetProcessName(draw(2) ? 500 + draw(6) : 1 + draw(400), text, n); break;
            case 3: result = nvmlDeviceGetComputeRunningProcesses_v3(of, &count, n ? infos : NULL); break;
            case 4: result = nvmlDeviceGetMPSComputeRunningProcesses(of, &count, n ? (void *)infos : NULL); break;
            case 5: result = nvmlDeviceGetSupportedGraphicsClocks(of, 9000 - 100 * draw(4), &count, n ? list : NULL); break;
            case 6: result = nvmlDeviceGetSupportedMemoryClocks(of, &count, n ? list : NULL); break;
            case 7: result = nvmlDeviceGetFieldValues(of, (int)n, values); break;
            case 8: result = nvmlDeviceSetGpuLockedClocks(of, draw(3000), draw(3000)); break;
            case 9: result = nvmlDeviceSetMigMode(of, draw(3), &number); break;
            case 10: result = nvmlDeviceGetGpuInstanceById(of, draw(16), &instance); break;
            case 11: result = nvmlDeviceCreateGpuInstance(of, draw(2) ? 19 : 5, &instance); break;
            case 12: result = nvmlGpuInstanceCreateComputeInstance(instance, draw(9), &compute); break;
            case 13: result = nvmlGpuInstanceGetComputeInstancePossiblePlacements(instance, draw(9), n ? (void *)values : NULL, &count); break;
            case 14: result = nvmlComputeInstanceDestroy(compute); break;
            case 15: result = nvmlGpuInstanceDestroy(instance); break;
            case 16: result = nvmlDeviceRegisterEvents(of, (unsigned long long)draw(64), set); break;
            case 17: happens(0, 1ull << draw(5), draw(100)); break;
            case 18: { nvmlEventData_t event; result = nvmlEventSetWait(set, &event, draw(30)); break; }
            case 19: result = nvmlDeviceGetMigDeviceHandleByIndex(of, draw(9), &device); if (result) device = handle(0); break;
            case 20: result = nvmlDeviceGetClock(of, draw(6), draw(6), &number); break;
            case 21: result = nvmlDeviceGetTotalEnergyConsumption(of, &big); break;
            case 22: result = nvmlDeviceGetPciInfo(of, (void *)values); if (n < 1) result = 0; break;
            case 23: result = nvmlGpuInstanceGetComputeInstanceProfileInfo(instance, draw(9), draw(2), (void *)&(nvmlComputeInstanceProfileInfo_t){0}); break;
            }
            (void)other;
            if (result > 30 && result != 999) SAME(result, 0);
            free(text), free(infos), free(list), free(values);
        }
        SAME(slots_taken(0) + slots_taken(1), 0);
        nvmlEventSetFree(set);
        SAME(nvmlShutdown(), 0), SAME(nvmlShutdown(), 1);
    }
}

int main(int count, char **words) {
    random_state = 88172645463325252ull;
    if (count > 3 && !strcmp(words[1], "random")) random_state += strtoull(words[2], NULL, 10) * 2654435761u, random_calls((unsigned int)atoi(words[3]));
    else {
        nothing_given(), opening(), reading(), keeping_nothing(), requests(), waiting(), cuda_shim();
        for (int round = 0; round < 3; round++) texts(fresh(2)), numbers(fresh(2)), fields(fresh(2)), processes(fresh(2)), events(fresh(2)), parts(fresh(2));
    }
    forget();
    printf("%d failures\n", failures);
    return failures > 0;
}
