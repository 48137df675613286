// What the program uses of NCCL's interface.
#pragma once

#include <stddef.h>

typedef struct ncclComm* ncclComm_t;
typedef struct {
    char internal[128];
} ncclUniqueId;

#define EACH_FUNCTION(F)                                                        \
    F(ncclCommInitRank, (ncclComm_t*, int, ncclUniqueId, int))                  \
    F(ncclGroupStart, (void))                                                   \
    F(ncclGroupEnd, (void))                                                     \
    F(ncclAllReduce, (const void*, void*, size_t, int, int, ncclComm_t, void*)) \
    F(ncclAllGather, (const void*, void*, size_t, int, ncclComm_t, void*))      \
    F(ncclBroadcast, (const void*, void*, size_t, int, int, ncclComm_t, void*)) \
    F(ncclSend, (const void*, size_t, int, int, ncclComm_t, void*))             \
    F(ncclRecv, (void*, size_t, int, int, ncclComm_t, void*))
#define DECLARE(name, parameters) int name parameters;
EACH_FUNCTION(DECLARE)
