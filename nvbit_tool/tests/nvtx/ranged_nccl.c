// A libnccl that moves nothing, and names its calls by NVTX as NCCL does: schemas of its payloads under ids of its own, an enumeration of
// reductions, registered names, and the payload of a communicator's creation when it is over. Each call that is carried out launches once.
#include "ranged_nccl.h"

#include <nvtx3/nvToolsExtPayload.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

extern void fake_launch(unsigned) __attribute__((weak));

struct ncclComm {
    uint64_t hash;
    int ranks, rank, gpu;
};

// By their numbers: the headers' names of these have changed. What is set of a schema: type, entries, their number, size and id; of an
// enumeration: entries, their number, size and id.
enum { kFirstId = 1 << 24, kReductions = kFirstId + 24, kOfSchema = 0x174, kOfEnum = 0x3c };

typedef struct {
    uint64_t communicator;
    int ranks, rank, gpu;
} Created;
typedef struct {
    uint64_t communicator;
    size_t bytes;
} Moved;
typedef struct {
    uint64_t communicator;
    size_t bytes;
    int op;
} Reduced;
typedef struct {
    uint64_t communicator;
    size_t bytes;
    int peer;
} Directed;

#define ENTRY(Struct, member, kind, said) {0, kind, said, NULL, 0, offsetof(Struct, member), NULL, NULL}
#define COMMUNICATOR(Struct) ENTRY(Struct, communicator, NVTX_PAYLOAD_ENTRY_TYPE_UINT64, "NCCL communicator ID")
#define BYTES(Struct) ENTRY(Struct, bytes, NVTX_PAYLOAD_ENTRY_TYPE_SIZE, "Message size [bytes]")
static const nvtxPayloadSchemaEntry_t kCreated[] = {
    COMMUNICATOR(Created), ENTRY(Created, ranks, NVTX_PAYLOAD_ENTRY_TYPE_INT, "No. of ranks"),
    ENTRY(Created, rank, NVTX_PAYLOAD_ENTRY_TYPE_INT, "Rank"), ENTRY(Created, gpu, NVTX_PAYLOAD_ENTRY_TYPE_INT, "CUDA device")};
static const nvtxPayloadSchemaEntry_t kMoved[] = {COMMUNICATOR(Moved), BYTES(Moved)};
static const nvtxPayloadSchemaEntry_t kReduced[] = {COMMUNICATOR(Reduced), BYTES(Reduced),
                                                    ENTRY(Reduced, op, kReductions, "Reduction operation")};
static const nvtxPayloadSchemaEntry_t kRooted[] = {COMMUNICATOR(Directed), BYTES(Directed),
                                                   ENTRY(Directed, peer, NVTX_PAYLOAD_ENTRY_TYPE_INT, "Root")};
static const nvtxPayloadSchemaEntry_t kPeer[] = {COMMUNICATOR(Directed), BYTES(Directed),
                                                 ENTRY(Directed, peer, NVTX_PAYLOAD_ENTRY_TYPE_INT, "Peer rank")};

static nvtxDomainHandle_t domain(void) {
    static nvtxDomainHandle_t made;
    if (!made) made = nvtxDomainCreateA("NCCL");
    return made;
}

static void schema(uint64_t id, const nvtxPayloadSchemaEntry_t* entries, size_t count, size_t bytes) {
    nvtxPayloadSchemaAttr_t schema = {0};
    schema.fieldMask = kOfSchema;
    schema.type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC;
    schema.entries = entries;
    schema.numEntries = count;
    schema.payloadStaticSize = bytes;
    schema.schemaId = id;
    if (nvtxPayloadSchemaRegister(domain(), &schema) != id && getenv("NVTX_INJECTION64_PATH")) abort();
}

static void push(const char* name, const nvtxPayloadData_t* payload) {
    nvtxEventAttributes_t event = {0};
    event.version = NVTX_VERSION;
    event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    event.message.registered = nvtxDomainRegisterStringA(domain(), name);
    if (payload) {
        event.payloadType = NVTX_PAYLOAD_TYPE_EXT;
        event.reserved0 = 1;
        event.payload.ullValue = (uint64_t)(uintptr_t)payload;
    }
    nvtxDomainRangePushEx(domain(), &event);
}

static void pop(void) { nvtxDomainRangePop(domain()); }

// The n-th schema, told when it is first needed.
#define PUSH(name, n, entries, payload)                                                                 \
    do {                                                                                                \
        static int told;                                                                                \
        if (!told++) schema(kFirstId + (n), entries, sizeof entries / sizeof *entries, sizeof payload); \
        const nvtxPayloadData_t data = {kFirstId + (n), sizeof payload, &payload};                      \
        push(name, &data);                                                                              \
    } while (0)

static _Thread_local int depth, waiting;

static int carry_out(void) {
    if (depth)
        ++waiting;
    else if (fake_launch)
        fake_launch(1);
    pop();
    return 0;
}

int ncclCommInitRank(ncclComm_t* made, int ranks, ncclUniqueId id, int rank) {
    static int told;
    if (!told++) {
        const nvtxPayloadEnum_t reductions[] = {{"Sum", 0, 0}, {"Product", 1, 0}, {"Max", 2, 0}, {"Min", 3, 0}, {"Avg", 4, 0}};
        nvtxPayloadEnumAttr_t values = {0};
        values.fieldMask = kOfEnum;
        values.entries = reductions;
        values.numEntries = sizeof reductions / sizeof *reductions;
        values.sizeOfEnum = sizeof(int);
        values.schemaId = kReductions;
        nvtxPayloadEnumRegister(domain(), &values);
        schema(kFirstId, kCreated, sizeof kCreated / sizeof *kCreated, sizeof(Created));
    }
    push("ncclCommInitRank", NULL);
    *made = malloc(sizeof **made);
    memcpy(&(*made)->hash, id.internal, sizeof(uint64_t));
    (*made)->ranks = ranks;
    (*made)->rank = rank;
    (*made)->gpu = 1;
    const Created created = {(*made)->hash, ranks, rank, 1};
    const nvtxPayloadData_t data = {kFirstId, sizeof created, &created};
    nvtxRangePopPayload(domain(), &data, 1);
    return 0;
}

int ncclCommUserRank(ncclComm_t comm, int* rank) { return *rank = comm->rank, 0; }
int ncclCommCount(ncclComm_t comm, int* ranks) { return *ranks = comm->ranks, 0; }
int ncclCommCuDevice(ncclComm_t comm, int* gpu) { return *gpu = comm->gpu, 0; }

int ncclGroupStart(void) {
    push("ncclGroupStart", NULL);
    ++depth;
    pop();
    return 0;
}

int ncclGroupEnd(void) {
    push("ncclGroupEnd", NULL);
    if (--depth == 0 && waiting) {
        waiting = 0;
        if (fake_launch) fake_launch(1);
    }
    pop();
    return 0;
}

int ncclAllReduce(const void* from, void* to, size_t count, int type, int op, ncclComm_t comm, void* stream) {
    (void)from, (void)to, (void)type, (void)stream;
    const Reduced payload = {comm->hash, 4 * count, op};
    PUSH("ncclAllReduce", 5, kReduced, payload);
    return carry_out();
}

int ncclAllGather(const void* from, void* to, size_t count, int type, ncclComm_t comm, void* stream) {
    (void)from, (void)to, (void)type, (void)stream;
    const Moved payload = {comm->hash, 4 * count};
    PUSH("ncclAllGather", 4, kMoved, payload);
    return carry_out();
}

int ncclBroadcast(const void* from, void* to, size_t count, int type, int root, ncclComm_t comm, void* stream) {
    (void)from, (void)to, (void)type, (void)stream;
    const Directed payload = {comm->hash, 4 * count, root};
    PUSH("ncclBroadcast", 6, kRooted, payload);
    return carry_out();
}

int ncclSend(const void* from, size_t count, int type, int peer, ncclComm_t comm, void* stream) {
    (void)from, (void)type, (void)stream;
    const Directed payload = {comm->hash, 4 * count, peer};
    PUSH("ncclSend", 9, kPeer, payload);
    return carry_out();
}

int ncclRecv(void* to, size_t count, int type, int peer, ncclComm_t comm, void* stream) {
    (void)to, (void)type, (void)stream;
    const Directed payload = {comm->hash, 4 * count, peer};
    PUSH("ncclRecv", 10, kPeer, payload);
    return carry_out();
}
