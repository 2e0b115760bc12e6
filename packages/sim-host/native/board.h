/* Access to the simulator's board files: mapping, consistent reads, requests. */
#pragma once
#include "board_file.h"
#include "nvml_abi.h"

#define MAX_DEVICES 16

/* A board, or a MIG device of one: the handles of both have one type in the interface. */
struct device {
    unsigned int index; /* of the board */
    struct device *parent; /* NULL for a board */
    unsigned int gpu_instance, compute_instance;
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

/* Whether a pointer that a caller brings is to one of our handles, and not between two. */
int is_element(const void *pointer, const void *array, size_t count, size_t size);
/* Checks every call on a board starts with: initialised, a handle of ours, the simulator alive. MIG devices: not supported. */
nvmlReturn_t board_check(nvmlDevice_t device);
/* The same where a MIG device will do as well; whether it still exists is for `mig_find` to say. */
nvmlReturn_t device_check(nvmlDevice_t device);
/* A consistent copy of the state of a board, or of the board that a MIG device is on. */
nvmlReturn_t board_read(nvmlDevice_t device, struct board_state *state);
/* The handle of a MIG device of a board. */
nvmlDevice_t mig_handle(nvmlDevice_t board, unsigned int gpu_instance, unsigned int compute_instance);
/* Hand a request to the simulator and wait for its answer. Refuses unprivileged callers as the driver does. */
struct request {
    unsigned int operation, first, second, third;
    unsigned int value; /* answered: the id of what was made, or the outcome of an activation */
};
nvmlReturn_t board_request(nvmlDevice_t device, struct request *request);
nvmlReturn_t copy_text(const char *text, char *to, unsigned int length);
