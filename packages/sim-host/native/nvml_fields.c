/* Field values: the generic door to single readings, by number. */
#include "nvml_answers.h"

enum {
    FIELD_ECC_CURRENT = 1,
    FIELD_ECC_PENDING = 2,
    FIELD_ECC_FIRST_COUNTER = 3,
    FIELD_ECC_LAST_COUNTER = 28,
    FIELD_PERF_POLICY_POWER = 74,
    FIELD_PERF_POLICY_THERMAL = 75,
    FIELD_PERF_POLICY_LAST = 81,
    FIELD_MEMORY_TEMP = 82,
    FIELD_TOTAL_ENERGY = 83,
    FIELD_NVLINK_LINK_COUNT = 91,
    FIELD_PCIE_REPLAY_COUNTER = 94,
    FIELD_PCIE_REPLAY_ROLLOVER = 95,
    FIELD_REMAPPED_FIRST = 142,
    FIELD_REMAPPED_LAST = 145,
    FIELD_POWER_AVERAGE = 185,
    FIELD_POWER_INSTANT = 186,
    FIELD_POWER_MIN_LIMIT = 187,
    FIELD_POWER_MAX_LIMIT = 188,
    FIELD_POWER_DEFAULT_LIMIT = 189,
    FIELD_POWER_CURRENT_LIMIT = 190,
    FIELD_ENERGY = 191,
    FIELD_POWER_REQUESTED_LIMIT = 192,
    SCOPE_MEMORY = 2
};

static nvmlReturn_t number(nvmlFieldValue_t *field, uint32_t value) {
    if (whether_told(value) != NVML_SUCCESS) return whether_told(value);
    field->valueType = NVML_VALUE_TYPE_UNSIGNED_INT;
    field->value.uiVal = value;
    return NVML_SUCCESS;
}
static nvmlReturn_t counter(nvmlFieldValue_t *field, uint64_t value) {
    if (value == NOT_READ_64) return NVML_ERROR_UNKNOWN;
    field->valueType = NVML_VALUE_TYPE_UNSIGNED_LONG_LONG;
    field->value.ullVal = value;
    return NVML_SUCCESS;
}

static nvmlReturn_t fill(const struct board_identity *identity, const struct board_state *state, nvmlFieldValue_t *field) {
    unsigned int id = field->fieldId;
    if (id == FIELD_ECC_CURRENT || id == FIELD_ECC_PENDING) return identity->hasEcc ? number(field, 1) : NVML_ERROR_NOT_SUPPORTED;
    if (id >= FIELD_ECC_FIRST_COUNTER && id <= FIELD_ECC_LAST_COUNTER)
        return identity->hasEcc ? counter(field, 0) : NVML_ERROR_NOT_SUPPORTED;
    if (id >= FIELD_REMAPPED_FIRST && id <= FIELD_REMAPPED_LAST)
        return identity->hasEcc ? number(field, 0) : NVML_ERROR_NOT_SUPPORTED;
    /* The memory's own power is measured on no board here. */
    if (id >= FIELD_POWER_AVERAGE && id <= FIELD_POWER_REQUESTED_LIMIT && field->scopeId == SCOPE_MEMORY)
        return NVML_ERROR_NOT_SUPPORTED;
    switch (id) {
    case FIELD_PERF_POLICY_POWER: return counter(field, state->violationPowerNs);
    case FIELD_PERF_POLICY_THERMAL: return counter(field, state->violationThermalNs);
    case FIELD_MEMORY_TEMP: return number(field, state->memoryTemperatureC);
    case FIELD_TOTAL_ENERGY:
    case FIELD_ENERGY: return counter(field, state->energyMj);
    case FIELD_NVLINK_LINK_COUNT:
    case FIELD_PCIE_REPLAY_COUNTER:
    case FIELD_PCIE_REPLAY_ROLLOVER: return number(field, 0);
    case FIELD_POWER_AVERAGE: return number(field, state->powerAverageMw);
    case FIELD_POWER_INSTANT: return number(field, state->powerInstantMw);
    case FIELD_POWER_MIN_LIMIT: return number(field, identity->powerMinMw);
    case FIELD_POWER_MAX_LIMIT: return number(field, identity->powerMaxMw);
    case FIELD_POWER_DEFAULT_LIMIT: return number(field, identity->powerDefaultMw);
    case FIELD_POWER_CURRENT_LIMIT:
    case FIELD_POWER_REQUESTED_LIMIT: return number(field, state->powerLimitMw);
    default:
        if (id > FIELD_PERF_POLICY_THERMAL && id <= FIELD_PERF_POLICY_LAST) return counter(field, 0);
        return id == 0 ? NVML_ERROR_INVALID_ARGUMENT : NVML_ERROR_NOT_SUPPORTED;
    }
}

EXPORT nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t device, int count, nvmlFieldValue_t *fields) {
    READ(device, fields && count > 0, state);
    for (int i = 0; i < count; i++) {
        fields[i].timestamp = (long long)state.timestampUs;
        fields[i].latencyUsec = 0;
        fields[i].value.ullVal = 0;
        fields[i].nvmlReturn = fill(device->identity, &state, &fields[i]);
    }
    return NVML_SUCCESS;
}
EXPORT nvmlReturn_t nvmlDeviceClearFieldValues(nvmlDevice_t device, int count, nvmlFieldValue_t *fields) {
    CHECK(device, fields && count > 0);
    for (int i = 0; i < count; i++) fields[i].nvmlReturn = NVML_ERROR_NOT_SUPPORTED;
    return NVML_SUCCESS;
}
