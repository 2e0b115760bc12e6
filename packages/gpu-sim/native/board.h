/* Access to the simulator's board files: mapping, consistent reads, requests. */
#pragma once
#include "board_file.h"
#include "nvml_abi.h"

#define MAX_DEVICES 16

struct device {
    unsigned int index;
    unsigned char *file;
    const volatile struct board_header *header;
    const struct board_identity *identity;
    struct board_request *requests;
};

/* Initialisations are counted; the files stay mapped until the last shutdown. */
nvmlReturn_t boards_open(void);
nvmlReturn_t boards_close(void);
int boards_are_open(void);
unsigned int boards_count(void);
struct device *boards_at(unsigned int index);

/* Checks every call on a device starts with: initialised, a handle of ours, the simulator alive. */
nvmlReturn_t board_check(nvmlDevice_t device);
/* A consistent copy of the state. */
nvmlReturn_t board_read(nvmlDevice_t device, struct board_state *state);
/* Hand a request to the simulator and wait for its answer. Refuses unprivileged callers as the driver does. */
nvmlReturn_t board_request(nvmlDevice_t device, unsigned int operation, unsigned int first, unsigned int second);
nvmlReturn_t copy_text(const char *text, char *to, unsigned int length);
