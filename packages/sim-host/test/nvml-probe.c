/*
 * Looks up NVML by name in the library that the dynamic linker finds, as monitors do, and prints one line per check.
 * `probe`: the interface's rules. `probe lock MHZ`: one setter. `probe spin`: setters until one fails. `probe read`: one
 * reading. `probe all NAMES`: every named function with null arguments.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned int (*call_t)();
static void *library;

static call_t find(const char *name) {
    call_t call;
    *(void **)&call = dlsym(library, name);
    if (!call) {
        printf("missing %s\n", name);
        exit(1);
    }
    return call;
}
#define CALL(name, ...) find(#name)(__VA_ARGS__)
#define SHOW(label, value) printf("%s %u\n", label, (unsigned)(value))

static int rules(void) {
    void *device = NULL;
    unsigned int number = 0, list[512];
    char text[96];
    SHOW("count-before-init", CALL(nvmlDeviceGetCount_v2, &number));
    SHOW("shutdown-before-init", CALL(nvmlShutdown));
    SHOW("unsupported-before-init", CALL(nvmlDeviceGetNvLinkState, NULL, 0, &number));
    SHOW("init", CALL(nvmlInit_v2));
    SHOW("init-again", CALL(nvmlInitWithFlags, 0u));
    SHOW("shutdown-inner", CALL(nvmlShutdown));
    SHOW("count", CALL(nvmlDeviceGetCount_v2, &number));
    SHOW("boards", number);
    SHOW("count-null", CALL(nvmlDeviceGetCount_v2, NULL));
    SHOW("handle-beyond", CALL(nvmlDeviceGetHandleByIndex_v2, 99u, &device));
    SHOW("handle", CALL(nvmlDeviceGetHandleByIndex_v2, 0u, &device));
    SHOW("foreign-handle", CALL(nvmlDeviceGetPowerUsage, &number, &number));
    SHOW("null-handle", CALL(nvmlDeviceGetPowerUsage, NULL, &number));
    SHOW("null-result", CALL(nvmlDeviceGetPowerUsage, device, NULL));
    SHOW("name-short", CALL(nvmlDeviceGetName, device, text, 4u));
    SHOW("name", CALL(nvmlDeviceGetName, device, text, 96u));
    printf("name-is %s\n", text);
    SHOW("uuid", CALL(nvmlDeviceGetUUID, device, text, 96u));
    void *same = NULL;
    SHOW("by-uuid", CALL(nvmlDeviceGetHandleByUUID, text, &same));
    SHOW("same", same == device);
    SHOW("by-bus", CALL(nvmlDeviceGetHandleByPciBusId_v2, "0000:01:00.0", &same));
    SHOW("by-no-bus", CALL(nvmlDeviceGetHandleByPciBusId_v2, "0000:7F:00.0", &same));
    SHOW("serial", CALL(nvmlDeviceGetSerial, device, text, 96u));
    number = 0;
    SHOW("clocks-size", CALL(nvmlDeviceGetSupportedMemoryClocks, device, &number, NULL));
    SHOW("clocks-count", number);
    SHOW("clocks", CALL(nvmlDeviceGetSupportedMemoryClocks, device, &number, list));
    SHOW("clocks-top", list[0]);
    number = 512;
    SHOW("graphics-unknown", CALL(nvmlDeviceGetSupportedGraphicsClocks, device, 1u, &number, list));
    SHOW("graphics", CALL(nvmlDeviceGetSupportedGraphicsClocks, device, 9501u, &number, list));
    SHOW("graphics-count", number);
    struct { unsigned int version; unsigned long long total, reserved, free, used; } memory = {0, 0, 0, 0, 0};
    SHOW("memory-version", CALL(nvmlDeviceGetMemoryInfo_v2, device, &memory));
    memory.version = sizeof memory | 2 << 24;
    SHOW("memory", CALL(nvmlDeviceGetMemoryInfo_v2, device, &memory));
    SHOW("memory-adds-up", memory.total == memory.reserved + memory.free + memory.used);
    struct { unsigned int id, scope; long long time, latency; unsigned int type, result; unsigned long long value; } fields[4];
    memset(fields, 0, sizeof fields);
    fields[0].id = 186, fields[1].id = 83, fields[2].id = 82, fields[3].id = 999;
    SHOW("fields", CALL(nvmlDeviceGetFieldValues, device, 4, fields));
    for (int i = 0; i < 4; i++) printf("field-%u %u %u\n", fields[i].id, fields[i].result, fields[i].type);
    number = 0;
    SHOW("processes-size", CALL(nvmlDeviceGetComputeRunningProcesses_v3, device, &number, NULL));
    SHOW("processes-count", number);
    SHOW("utilization-null", CALL(nvmlDeviceGetUtilizationRates, device, NULL));
    SHOW("clock-type", CALL(nvmlDeviceGetClockInfo, device, 9u, &number));
    SHOW("accounting", CALL(nvmlDeviceGetAccountingMode, device, &number));
    SHOW("unsupported", CALL(nvmlDeviceGetNvLinkState, device, 0u, &number));
    SHOW("shutdown", CALL(nvmlShutdown));
    SHOW("after-shutdown", CALL(nvmlDeviceGetPowerUsage, device, &number));
    return 0;
}

/* Every exported function, with arguments that are all null: an error, never a crash. */
static int all(int count, char **names) {
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < count; i++) {
            if (!strcmp(names[i], "nvmlShutdown") || !strncmp(names[i], "nvmlInit", 8) || !strcmp(names[i], "nvmlErrorString")) continue;
            unsigned int result = find(names[i])(NULL, NULL, NULL, NULL, NULL, NULL);
            if (result == 0) printf("accepted %s\n", names[i]);
        }
        if (round == 0) CALL(nvmlInit_v2);
    }
    printf("called %d\n", count);
    return 0;
}

int main(int count, char **arguments) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
    if (!library) {
        puts(dlerror());
        return 1;
    }
    if (count > 2 && !strcmp(arguments[1], "all")) return all(count - 2, arguments + 2);
    if (count < 2) return rules();
    void *device = NULL;
    SHOW("init", CALL(nvmlInit_v2));
    CALL(nvmlDeviceGetHandleByIndex_v2, 0u, &device);
    if (!strcmp(arguments[1], "read")) {
        unsigned int milliwatts = 0;
        SHOW("power", CALL(nvmlDeviceGetPowerUsage, device, &milliwatts));
        return 0;
    }
    if (!strcmp(arguments[1], "lock")) {
        unsigned int mhz = (unsigned)atoi(arguments[2]);
        SHOW("lock", CALL(nvmlDeviceSetGpuLockedClocks, device, mhz, mhz));
        return 0;
    }
    unsigned int result;
    if (!strcmp(arguments[1], "events")) {
        void *set = NULL;
        unsigned long long types = 0;
        struct { void *device; unsigned long long type, data; unsigned int gpu_instance, compute_instance; } event;
        SHOW("create", CALL(nvmlEventSetCreate, &set));
        SHOW("types", CALL(nvmlDeviceGetSupportedEventTypes, device, &types));
        SHOW("supported", (unsigned)types);
        SHOW("register-ecc", CALL(nvmlDeviceRegisterEvents, device, 2ull, set));
        SHOW("register-xid", CALL(nvmlDeviceRegisterEvents, device, 8ull, set));
        SHOW("none", CALL(nvmlEventSetWait_v2, set, &event, 0u));
        puts("waiting");
        while ((result = CALL(nvmlEventSetWait_v2, set, &event, 60000u)) == 0)
            printf("event %d %llu %llu\n", event.device == device, event.type, event.data);
        SHOW("ended", result);
        return 0;
    }
    puts("spinning");
    while ((result = CALL(nvmlDeviceSetPowerManagementLimit, device, 200000u)) == 0) {}
    SHOW("spin-ended", result);
    unsigned int power;
    SHOW("read-after", CALL(nvmlDeviceGetPowerUsage, device, &power));
    SHOW("shutdown", CALL(nvmlShutdown));
    SHOW("init-after", CALL(nvmlInit_v2));
    return 0;
}
