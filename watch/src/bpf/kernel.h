// What is read of the kernel's own structures. Where these members lie is found out when the program is loaded (CO-RE).
#pragma once

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct counter {
    int counter;
};
typedef struct counter atomic_t;

struct signal_struct {
    atomic_t live;
};

struct task_struct {
    int tgid;
    struct signal_struct* signal;
};

#pragma clang attribute pop
