#define _GNU_SOURCE
#include "board.h"
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* A simulator that is busy may miss some beats; one that says nothing for this long is gone. */
#define SILENT_NS 20000000000ull
#define FRESH_NS 200000000ull
#define REQUEST_TIMEOUT_NS 20000000000ull
#define POLL_NS 500000

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct device devices[MAX_DEVICES];
static struct device mig_devices[MAX_DEVICES][GPU_INSTANCE_IDS][COMPUTE_INSTANCE_IDS];
static unsigned int device_count;
static unsigned int open_count;

static uint64_t now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000ull + (uint64_t)time.tv_nsec;
}

/* Whether a loaded library is this one. (Not dladdr or fstat: their newest versions would bind us to a young C library.) */
static int is_self(struct dl_phdr_info *info, size_t size, void *name) {
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + part->p_vaddr, here = (uintptr_t)&devices;
        if (part->p_type != PT_LOAD || here < start || here >= start + part->p_memsz) continue;
        *(const char **)name = info->dlpi_name;
        return 1;
    }
    return 0;
}

/* The host's folder is the one above the folder this library was loaded from: no variable that sudo could drop. */
static int board_path(unsigned int index, char *path, size_t length) {
    const char *self = NULL;
    if (!dl_iterate_phdr(is_self, &self) || !self) return -1;
    const char *file_name = strrchr(self, '/');
    size_t folder = file_name ? (size_t)(file_name - self) : 0;
    int written = file_name ? snprintf(path, length, "%.*s/../gpu%u", (int)folder, self, index)
                            : snprintf(path, length, "../gpu%u", index);
    return written > 0 && (size_t)written < length ? 0 : -1;
}

static nvmlReturn_t map_board(unsigned int index) {
    char path[4096];
    if (board_path(index, path, sizeof path)) return NVML_ERROR_UNKNOWN;
    int writable = 1;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0) {
        writable = 0;
        fd = open(path, O_RDONLY | O_CLOEXEC);
    }
    if (fd < 0) return errno == EACCES ? NVML_ERROR_NO_PERMISSION : NVML_ERROR_DRIVER_NOT_LOADED;
    void *file = MAP_FAILED;
    if (lseek(fd, 0, SEEK_END) >= BOARD_FILE_BYTES)
        file = mmap(NULL, BOARD_FILE_BYTES, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    if (file == MAP_FAILED) return NVML_ERROR_DRIVER_NOT_LOADED;
    struct device *device = &devices[index];
    device->index = index;
    device->file = file;
    device->header = file;
    device->identity = (const void *)(device->file + BOARD_IDENTITY_OFFSET);
    device->requests = writable ? (void *)(device->file + BOARD_REQUESTS_OFFSET) : NULL;
    if (device->header->magic != BOARD_MAGIC || device->header->version != BOARD_LAYOUT_VERSION)
        return NVML_ERROR_LIB_RM_VERSION_MISMATCH;
    return NVML_SUCCESS;
}

static void unmap_boards(void) {
    for (unsigned int i = 0; i < MAX_DEVICES; i++)
        if (devices[i].file) munmap(devices[i].file, BOARD_FILE_BYTES);
    memset(devices, 0, sizeof devices);
    memset(mig_devices, 0, sizeof mig_devices);
    device_count = 0;
}

/* Whether somebody answers for the file at all; a lost board's simulator still lives. */
static int driver_is_loaded(const struct device *device) {
    if (device->header->presence == BOARD_STOPPED) return 0;
    uint64_t heartbeat = device->header->heartbeatNs, now = now_ns();
    if (now < heartbeat + FRESH_NS) return 1;
    if (now > heartbeat + SILENT_NS) return 0;
    return kill((pid_t)device->header->simulatorPid, 0) == 0 || errno == EPERM;
}

static int simulator_is_alive(const struct device *device) {
    return device->header->presence == BOARD_PRESENT && driver_is_loaded(device);
}

nvmlReturn_t boards_open(void) {
    pthread_mutex_lock(&lock);
    nvmlReturn_t result = NVML_SUCCESS;
    if (open_count == 0) {
        result = map_board(0);
        if (result == NVML_SUCCESS && !driver_is_loaded(&devices[0])) result = NVML_ERROR_DRIVER_NOT_LOADED;
        unsigned int count = result == NVML_SUCCESS ? devices[0].header->gpuCount : 0;
        if (count > MAX_DEVICES) count = MAX_DEVICES;
        for (unsigned int i = 1; i < count && result == NVML_SUCCESS; i++) result = map_board(i);
        if (result == NVML_SUCCESS) device_count = count;
        else unmap_boards();
    }
    if (result == NVML_SUCCESS) open_count++;
    pthread_mutex_unlock(&lock);
    return result;
}

nvmlReturn_t boards_close(void) {
    pthread_mutex_lock(&lock);
    nvmlReturn_t result = open_count ? NVML_SUCCESS : NVML_ERROR_UNINITIALIZED;
    if (open_count && --open_count == 0) unmap_boards();
    pthread_mutex_unlock(&lock);
    return result;
}

int boards_are_open(void) { return __atomic_load_n(&open_count, __ATOMIC_ACQUIRE) > 0; }
unsigned int boards_count(void) { return device_count; }
struct device *boards_at(unsigned int index) { return index < device_count ? &devices[index] : NULL; }

int is_element(const void *pointer, const void *array, size_t count, size_t size) {
    uintptr_t at = (uintptr_t)pointer, first = (uintptr_t)array;
    return at >= first && at < first + count * size && (at - first) % size == 0;
}

static int is_board(nvmlDevice_t device) { return is_element(device, devices, device_count, sizeof *devices); }

static int is_mig_device(nvmlDevice_t device) {
    return is_element(device, mig_devices, sizeof mig_devices / sizeof ***mig_devices, sizeof ***mig_devices) && device->parent;
}

nvmlReturn_t device_check(nvmlDevice_t device) {
    if (!boards_are_open()) return NVML_ERROR_UNINITIALIZED;
    if (!is_board(device) && !is_mig_device(device)) return NVML_ERROR_INVALID_ARGUMENT;
    return simulator_is_alive(device) ? NVML_SUCCESS : NVML_ERROR_GPU_IS_LOST;
}

nvmlReturn_t board_check(nvmlDevice_t device) {
    nvmlReturn_t result = device_check(device);
    return result == NVML_SUCCESS && device->parent ? NVML_ERROR_NOT_SUPPORTED : result;
}

nvmlDevice_t mig_handle(nvmlDevice_t board, unsigned int gpu_instance, unsigned int compute_instance) {
    struct device *device = &mig_devices[board->index][gpu_instance][compute_instance];
    pthread_mutex_lock(&lock);
    if (!device->parent) {
        *device = *board;
        device->gpu_instance = gpu_instance;
        device->compute_instance = compute_instance;
        device->parent = board;
    }
    pthread_mutex_unlock(&lock);
    return device;
}

nvmlReturn_t board_read(nvmlDevice_t device, struct board_state *state) {
    nvmlReturn_t result = device_check(device);
    if (result != NVML_SUCCESS) return result;
    const volatile uint32_t *sequence = &device->header->sequence;
    for (;;) {
        uint32_t before = __atomic_load_n(sequence, __ATOMIC_ACQUIRE);
        if (!(before & 1)) {
            memcpy(state, device->file + BOARD_STATE_OFFSET, sizeof *state);
            __atomic_thread_fence(__ATOMIC_ACQUIRE);
            if (__atomic_load_n(sequence, __ATOMIC_RELAXED) == before) break;
        } else if (!simulator_is_alive(device)) {
            return NVML_ERROR_GPU_IS_LOST; /* it died while writing */
        }
    }
    if (state->processCount > MAX_PROCESSES) state->processCount = MAX_PROCESSES;
    if (state->gpuInstanceCount > MAX_MIG_INSTANCES) state->gpuInstanceCount = MAX_MIG_INSTANCES;
    if (state->computeInstanceCount > MAX_MIG_INSTANCES) state->computeInstanceCount = MAX_MIG_INSTANCES;
    return NVML_SUCCESS;
}

static struct board_request *claim_slot(struct device *device) {
    for (unsigned int i = 0; i < REQUEST_SLOTS; i++) {
        uint32_t nobody = 0;
        if (__atomic_compare_exchange_n(&device->requests[i].owner, &nobody, (uint32_t)getpid(), 0, __ATOMIC_ACQ_REL,
                                        __ATOMIC_RELAXED))
            return &device->requests[i];
    }
    return NULL;
}

nvmlReturn_t board_request(nvmlDevice_t device, struct request *request) {
    nvmlReturn_t result = board_check(device);
    if (result != NVML_SUCCESS) return result;
    uint32_t privilege = device->header->privilege;
    int permitted = privilege == PRIVILEGE_EVERYONE || (privilege == PRIVILEGE_ROOT && geteuid() == 0);
    if (!permitted || !device->requests) return NVML_ERROR_NO_PERMISSION;
    struct timespec pause = {0, POLL_NS};
    uint64_t deadline = now_ns() + REQUEST_TIMEOUT_NS;
    struct board_request *slot;
    while (!(slot = claim_slot(device))) {
        if (now_ns() > deadline) return NVML_ERROR_TIMEOUT;
        if (!simulator_is_alive(device)) return NVML_ERROR_GPU_IS_LOST;
        nanosleep(&pause, NULL);
    }
    slot->operation = request->operation;
    slot->first = request->first;
    slot->second = request->second;
    slot->third = request->third;
    uint32_t sequence = slot->sequence + 1;
    __atomic_store_n(&slot->sequence, sequence, __ATOMIC_RELEASE);
    while (__atomic_load_n(&slot->ack, __ATOMIC_ACQUIRE) != sequence) {
        result = !simulator_is_alive(device) ? NVML_ERROR_GPU_IS_LOST : now_ns() > deadline ? NVML_ERROR_TIMEOUT : NVML_SUCCESS;
        if (result != NVML_SUCCESS) break;
        nanosleep(&pause, NULL);
    }
    if (result == NVML_SUCCESS) {
        result = slot->result;
        request->value = slot->value;
    }
    __atomic_store_n(&slot->owner, 0, __ATOMIC_RELEASE);
    return result;
}

nvmlReturn_t copy_text(const char *text, char *to, unsigned int length) {
    if (!to) return NVML_ERROR_INVALID_ARGUMENT;
    size_t needed = strlen(text) + 1;
    if (length < needed) return NVML_ERROR_INSUFFICIENT_SIZE;
    memcpy(to, text, needed);
    return NVML_SUCCESS;
}
