/*
 * What Triton asks of the CUDA runtime before it looks at a board through DCGM. It counts when the library is preloaded:
 * LD_PRELOAD=libnvidia-ml.so.1. There is no CUDA besides.
 */
#include "board.h"
#include <string.h>

#define CUDA_INVALID_VALUE 1
#define CUDA_NO_DEVICE 100
#define CUDA_INVALID_DEVICE 101

/* "00000000:01:00.0" in NVML's words is "0000:01:00.0" in CUDA's. */
#define DOMAIN_DIGITS_DROPPED 4

EXPORT int cudaGetDeviceCount(int *count) {
    if (!count) return CUDA_INVALID_VALUE;
    *count = 0;
    if (boards_open() != NVML_SUCCESS) return CUDA_NO_DEVICE;
    *count = (int)boards_count();
    boards_close();
    return 0;
}

EXPORT int cudaDeviceGetPCIBusId(char *to, int length, int index) {
    if (!to || length < 1) return CUDA_INVALID_VALUE;
    if (boards_open() != NVML_SUCCESS) return CUDA_NO_DEVICE;
    int result = CUDA_INVALID_DEVICE;
    if (index >= 0 && (unsigned int)index < boards_count()) {
        const char *bus_id = boards_at((unsigned int)index)->identity->busId + DOMAIN_DIGITS_DROPPED;
        result = copy_text(bus_id, to, (unsigned int)length) == NVML_SUCCESS ? 0 : CUDA_INVALID_VALUE;
    }
    boards_close();
    return result;
}
