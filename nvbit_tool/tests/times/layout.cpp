// Compiles where CUPTI's headers are, and only if what src/times/cupti.h declares is what they declare.
#include <cupti.h>

#include <cstddef>

#include "times/cupti.h"

namespace mine = snoopie::cupti;

#define SAME(Mine, Theirs, mine_member, their_member)                                                              \
    static_assert(offsetof(mine::Mine, mine_member) == offsetof(Theirs, their_member), #Theirs "." #their_member); \
    static_assert(sizeof(mine::Mine::mine_member) >= sizeof(Theirs::their_member), #Theirs "." #their_member)

SAME(Kernel, CUpti_ActivityKernel9, kind, kind);
SAME(Kernel, CUpti_ActivityKernel9, start, start);
SAME(Kernel, CUpti_ActivityKernel9, end, end);
SAME(Kernel, CUpti_ActivityKernel9, device, deviceId);
SAME(Kernel, CUpti_ActivityKernel9, stream, streamId);
SAME(Kernel, CUpti_ActivityKernel9, grid, gridX);
SAME(Kernel, CUpti_ActivityKernel9, block, blockX);
SAME(Kernel, CUpti_ActivityKernel9, dynamic_shared_memory, dynamicSharedMemory);
SAME(Kernel, CUpti_ActivityKernel9, correlation, correlationId);
SAME(Kernel, CUpti_ActivityKernel9, name, name);
SAME(Kernel, CUpti_ActivityKernel9, graph_node, graphNodeId);
SAME(Memcpy, CUpti_ActivityMemcpy5, copy_kind, copyKind);
SAME(Memcpy, CUpti_ActivityMemcpy5, source_kind, srcKind);
SAME(Memcpy, CUpti_ActivityMemcpy5, destination_kind, dstKind);
SAME(Memcpy, CUpti_ActivityMemcpy5, bytes, bytes);
SAME(Memcpy, CUpti_ActivityMemcpy5, start, start);
SAME(Memcpy, CUpti_ActivityMemcpy5, end, end);
SAME(Memcpy, CUpti_ActivityMemcpy5, device, deviceId);
SAME(Memcpy, CUpti_ActivityMemcpy5, stream, streamId);
SAME(Memcpy, CUpti_ActivityMemcpy5, correlation, correlationId);
SAME(MemcpyPeer, CUpti_ActivityMemcpyPtoP4, bytes, bytes);
SAME(MemcpyPeer, CUpti_ActivityMemcpyPtoP4, start, start);
SAME(MemcpyPeer, CUpti_ActivityMemcpyPtoP4, end, end);
SAME(MemcpyPeer, CUpti_ActivityMemcpyPtoP4, device, deviceId);
SAME(MemcpyPeer, CUpti_ActivityMemcpyPtoP4, stream, streamId);
SAME(MemcpyPeer, CUpti_ActivityMemcpyPtoP4, source_device, srcDeviceId);
SAME(MemcpyPeer, CUpti_ActivityMemcpyPtoP4, destination_device, dstDeviceId);
SAME(MemcpyPeer, CUpti_ActivityMemcpyPtoP4, correlation, correlationId);
SAME(Memset, CUpti_ActivityMemset4, bytes, bytes);
SAME(Memset, CUpti_ActivityMemset4, device, deviceId);
SAME(Call, CUpti_ActivityAPI, start, start);
SAME(Call, CUpti_ActivityAPI, thread, threadId);
SAME(Call, CUpti_ActivityAPI, correlation, correlationId);

SAME(CallData, CUpti_CallbackData, site, callbackSite);
SAME(CallData, CUpti_CallbackData, correlation, correlationId);
static_assert(mine::kBegins == CUPTI_API_ENTER && mine::kDriverCalls == CUPTI_CB_DOMAIN_DRIVER_API);

constexpr bool same(mine::Kind one, CUpti_ActivityKind other) { return static_cast<int>(one) == static_cast<int>(other); }
static_assert(same(mine::Kind::concurrent_kernel, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
static_assert(same(mine::Kind::memcpy, CUPTI_ACTIVITY_KIND_MEMCPY) && same(mine::Kind::memcpy_peer, CUPTI_ACTIVITY_KIND_MEMCPY2));
static_assert(same(mine::Kind::memset, CUPTI_ACTIVITY_KIND_MEMSET));
static_assert(same(mine::Kind::driver, CUPTI_ACTIVITY_KIND_DRIVER));
static_assert(static_cast<int>(mine::Direction::ptop) == CUPTI_ACTIVITY_MEMCPY_KIND_PTOP);
static_assert(static_cast<int>(mine::MemoryKind::managed_static) == CUPTI_ACTIVITY_MEMORY_KIND_MANAGED_STATIC);
static_assert(mine::kProfilerStart == CUPTI_DRIVER_TRACE_CBID_cuProfilerStart);
static_assert(mine::kProfilerStop == CUPTI_DRIVER_TRACE_CBID_cuProfilerStop);
static_assert(mine::kZeroedBuffers == CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER);
static_assert(mine::kFlushForced == CUPTI_ACTIVITY_FLAG_FLUSH_FORCED && mine::kSystemThreadIds == CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
