/*
 * An NVML that hands every call on to another one, unless it was told to answer something else: an error code, or success
 * without having done anything. `calls.h` is written by the test and has one X(name) per function.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
typedef uintptr_t word;
typedef unsigned int (*function)(word, word, word, word, word, word);

enum {
#define X(name) ID_##name,
#include "calls.h"
#undef X
    CALLS
};
static const char *const names[CALLS] = {
#define X(name) #name,
#include "calls.h"
#undef X
};

#define BOARDS 16

static function real[CALLS];
/* Handles of boards by index, as the library gave them out. */
static word boards[BOARDS];
/* Per function and board: how often the answer is still given instead of a call (-1: always), and which. */
static int left[CALLS][BOARDS];
static unsigned int answer[CALLS][BOARDS];
static int instant;

/* BEHIND is given to the compiler, so that every process that loads this finds the real one. */
__attribute__((constructor)) static void open_behind(void) {
    void *handle = dlopen(BEHIND, RTLD_NOW | RTLD_LOCAL);
    for (int i = 0; handle && i < CALLS; i++) real[i] = (function)dlsym(handle, names[i]);
}

/* Calls that name no board count as calls of board 0. */
EXPORT int faulty_answer(const char *name, int board, unsigned int code, int times) {
    for (int i = 0; i < CALLS; i++)
        if (!strcmp(names[i], name)) {
            answer[i][board] = code;
            __atomic_store_n(&left[i][board], times, __ATOMIC_RELEASE);
            return 0;
        }
    return -1;
}

EXPORT void faulty_clear(int board) {
    for (int i = 0; i < CALLS; i++) __atomic_store_n(&left[i][board], 0, __ATOMIC_RELEASE);
}

/* From now on every call succeeds at once and writes nothing: what remains is the caller's own cost. */
EXPORT void faulty_instant(int on) { instant = on; }

static int board_of(word handle) {
    for (int i = 0; i < BOARDS; i++)
        if (boards[i] && boards[i] == handle) return i;
    return 0;
}

/* While the file `hang-<board>` is there, no call about that board returns, in whatever process. */
static void hang(int board) {
    char file[512];
    snprintf(file, sizeof file, "%s%d", HANG, board);
    while (access(file, F_OK) == 0) usleep(10000);
}

static unsigned int forward(int id, word a, word b, word c, word d, word e, word f) {
    if (instant) return 0;
    int board = board_of(a);
    if (boards[board] && boards[board] == a) hang(board);
    int times = __atomic_load_n(&left[id][board], __ATOMIC_ACQUIRE);
    if (times != 0) {
        if (times > 0) __atomic_sub_fetch(&left[id][board], 1, __ATOMIC_ACQ_REL);
        return answer[id][board];
    }
    unsigned int result = real[id] ? real[id](a, b, c, d, e, f) : 13;
    if (id == ID_nvmlDeviceGetHandleByIndex_v2 && result == 0 && a < BOARDS) boards[a] = *(word *)b;
    if (id == ID_nvmlDeviceGetHandleByUUID && result == 0) {
        unsigned int index = BOARDS;
        real[ID_nvmlDeviceGetIndex](*(word *)b, (word)&index, 0, 0, 0, 0);
        if (index < BOARDS) boards[index] = *(word *)b;
    }
    return result;
}

/* All arguments of NVML's functions are integers or pointers, at most six: they stay in their registers. */
#define X(name) \
    EXPORT unsigned int name(word a, word b, word c, word d, word e, word f) { return forward(ID_##name, a, b, c, d, e, f); }
#include "calls.h"
