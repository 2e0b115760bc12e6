/* Compute instance sizes, shared by what lists them and what makes them. */
#pragma once
#include "nvml_answers.h"
#include <stdio.h>

static const unsigned int compute_profile_slices[] = {1, 2, 3, 4, 7};
#define COMPUTE_PROFILES (sizeof compute_profile_slices / sizeof *compute_profile_slices)

/* Anything up to the whole GPU instance, but not three of four slices. */
static inline int compute_size_fits(const struct mig_profile *profile, unsigned int slices) {
    return slices <= profile->sliceCount && !(slices == 3 && profile->sliceCount == 4);
}
static inline unsigned int compute_sms(const struct mig_profile *profile, unsigned int slices) {
    return slices == profile->sliceCount ? profile->smCount : slices * profile->smPerSlice;
}
static inline void compute_instance_name(const struct mig_profile *profile, unsigned int slices, char *to, size_t length) {
    if (slices == profile->sliceCount) snprintf(to, length, "%s", profile->name);
    else snprintf(to, length, "%uc.%s", slices, profile->name);
}
