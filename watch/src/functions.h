// The driver functions that are followed, and where their arguments are. F(name, kind, object or direction, a, b, c, d)
//
// With each of them, those of the same name that end in _ptds or _ptsz (for per-thread default streams).
#pragma once

#define _ NO_ARGUMENT
// clang-format off
#define FOLLOWED(F) \
    /* memory */ \
    F(cuMemAlloc_v2,                 ALLOCATE, DEVICE, 0, 1, _, _) \
    F(cuMemAllocPitch_v2,            PITCHED, DEVICE, 0, 1, 3, _) \
    F(cuMemAllocManaged,             ALLOCATE, MANAGED, 0, 1, _, _) \
    F(cuMemAllocHost_v2,             ALLOCATE, HOST, 0, 1, _, _) \
    F(cuMemHostAlloc,                ALLOCATE, HOST, 0, 1, _, _) \
    F(cuMemAllocAsync,               ALLOCATE, POOL, 0, 1, _, _) \
    F(cuMemAllocFromPoolAsync,       ALLOCATE, POOL, 0, 1, _, _) \
    F(cuMemCreate,                   CREATE, PHYSICAL, 0, 1, 2, _) \
    F(cuMemMap,                      MAP, MAPPING, 0, 1, 3, _) \
    F(cuMemHostRegister_v2,          REGISTER, REGISTERED, 0, 1, _, _) \
    F(cuArrayCreate_v2,              ARRAY, IN_ARRAY, 0, 1, 0, _) \
    F(cuArray3DCreate_v2,            ARRAY, IN_ARRAY, 0, 1, 1, _) \
    F(cuIpcOpenMemHandle_v2,         ALLOCATE, IMPORT, 0, _, _, _) \
    F(cuMemFree_v2,                  FREE, DEVICE, 0, _, _, _) \
    F(cuMemFreeAsync,                FREE, POOL, 0, _, _, _) \
    F(cuMemFreeHost,                 FREE, HOST, 0, _, _, _) \
    F(cuMemHostUnregister,           FREE, REGISTERED, 0, _, _, _) \
    F(cuMemRelease,                  FREE, PHYSICAL, 0, _, _, _) \
    F(cuMemUnmap,                    FREE, MAPPING, 0, 1, _, _) \
    F(cuArrayDestroy,                FREE, IN_ARRAY, 0, _, _, _) \
    F(cuIpcCloseMemHandle,           FREE, IMPORT, 0, _, _, _) \
    /* launches */ \
    F(cuLaunchKernel,                LAUNCH, NONE, 0, _, _, _) \
    F(cuLaunchCooperativeKernel,     LAUNCH, NONE, 0, _, _, _) \
    F(cuLaunchKernelEx,              LAUNCH_EX, NONE, 0, 1, _, _) \
    F(cuGraphLaunch,                 GRAPH, NONE, 0, 1, _, _) \
    /* copies */ \
    F(cuMemcpy,                      COPY, OTHER, 0, 1, 2, _) \
    F(cuMemcpyAsync,                 COPY, OTHER, 0, 1, 2, 3) \
    F(cuMemcpyHtoD_v2,               COPY, HOST_TO_DEVICE, 0, 1, 2, _) \
    F(cuMemcpyHtoDAsync_v2,          COPY, HOST_TO_DEVICE, 0, 1, 2, 3) \
    F(cuMemcpyDtoH_v2,               COPY, DEVICE_TO_HOST, 0, 1, 2, _) \
    F(cuMemcpyDtoHAsync_v2,          COPY, DEVICE_TO_HOST, 0, 1, 2, 3) \
    F(cuMemcpyDtoD_v2,               COPY, DEVICE_TO_DEVICE, 0, 1, 2, _) \
    F(cuMemcpyDtoDAsync_v2,          COPY, DEVICE_TO_DEVICE, 0, 1, 2, 3) \
    F(cuMemcpyDtoA_v2,               COPY, DEVICE_TO_DEVICE, _, 2, 3, _) \
    F(cuMemcpyAtoD_v2,               COPY, DEVICE_TO_DEVICE, 0, _, 3, _) \
    F(cuMemcpyAtoA_v2,               COPY, DEVICE_TO_DEVICE, _, _, 4, _) \
    F(cuMemcpyHtoA_v2,               COPY, HOST_TO_DEVICE, _, 2, 3, _) \
    F(cuMemcpyHtoAAsync_v2,          COPY, HOST_TO_DEVICE, _, 2, 3, 4) \
    F(cuMemcpyAtoH_v2,               COPY, DEVICE_TO_HOST, 0, _, 3, _) \
    F(cuMemcpyAtoHAsync_v2,          COPY, DEVICE_TO_HOST, 0, _, 3, 4) \
    F(cuMemcpyPeer,                  COPY_PEER, PEER, 0, 2, 4, _) \
    F(cuMemcpyPeerAsync,             COPY_PEER, PEER, 0, 2, 4, 5) \
    F(cuMemcpy2D_v2,                 COPY_2D, OTHER, 0, _, _, _) \
    F(cuMemcpy2DUnaligned_v2,        COPY_2D, OTHER, 0, _, _, _) \
    F(cuMemcpy2DAsync_v2,            COPY_2D, OTHER, 0, 1, _, _) \
    F(cuMemcpy3D_v2,                 COPY_3D, OTHER, 0, _, _, _) \
    F(cuMemcpy3DAsync_v2,            COPY_3D, OTHER, 0, 1, _, _) \
    F(cuMemcpy3DPeer,                COPY_3D, PEER, 0, _, _, _) \
    F(cuMemcpy3DPeerAsync,           COPY_3D, PEER, 0, 1, _, _) \
    F(cuMemcpyBatchAsync,            CALL, NONE, _, _, _, _) \
    F(cuMemcpyBatchAsync_v2,         CALL, NONE, _, _, _, _) \
    F(cuMemcpy3DBatchAsync,          CALL, NONE, _, _, _, _) \
    F(cuMemcpy3DBatchAsync_v2,       CALL, NONE, _, _, _, _) \
    F(cuMemPrefetchAsync,            CALL, NONE, _, _, _, _) \
    F(cuMemPrefetchAsync_v2,         CALL, NONE, _, _, _, _) \
    /* memory that is set: object = bytes of an element */ \
    F(cuMemsetD8_v2,                 SET, 1, 0, 2, _, _) \
    F(cuMemsetD16_v2,                SET, 2, 0, 2, _, _) \
    F(cuMemsetD32_v2,                SET, 4, 0, 2, _, _) \
    F(cuMemsetD8Async,               SET, 1, 0, 2, _, _) \
    F(cuMemsetD16Async,              SET, 2, 0, 2, _, _) \
    F(cuMemsetD32Async,              SET, 4, 0, 2, _, _) \
    F(cuMemsetD2D8_v2,               SET, 1, 0, 3, 4, _) \
    F(cuMemsetD2D16_v2,              SET, 2, 0, 3, 4, _) \
    F(cuMemsetD2D32_v2,              SET, 4, 0, 3, 4, _) \
    F(cuMemsetD2D8Async,             SET, 1, 0, 3, 4, _) \
    F(cuMemsetD2D16Async,            SET, 2, 0, 3, 4, _) \
    F(cuMemsetD2D32Async,            SET, 4, 0, 3, 4, _) \
    /* waiting */ \
    F(cuCtxSynchronize,              CALL, NONE, _, _, _, _) \
    F(cuCtxSynchronize_v2,           CALL, NONE, _, _, _, _) \
    F(cuStreamSynchronize,           CALL, NONE, _, _, _, _) \
    F(cuEventSynchronize,            CALL, NONE, _, _, _, _) \
    /* code */ \
    F(cuModuleGetFunction,           FUNCTION, NONE, 0, 2, _, _) \
    F(cuLibraryGetKernel,            FUNCTION, NONE, 0, 2, _, _) \
    F(cuKernelGetFunction,           ALIAS, NONE, 0, 1, _, _) \
    F(cuFuncGetName,                 NAMED, NONE, 0, 1, _, _) \
    F(cuKernelGetName,               NAMED, NONE, 0, 1, _, _) \
    F(cuModuleLoad,                  CALL, NONE, _, _, _, _) \
    F(cuModuleLoadData,              CALL, NONE, _, _, _, _) \
    F(cuModuleLoadDataEx,            CALL, NONE, _, _, _, _) \
    F(cuModuleLoadFatBinary,         CALL, NONE, _, _, _, _) \
    F(cuModuleUnload,                CALL, NONE, _, _, _, _) \
    F(cuLibraryLoadData,             CALL, NONE, _, _, _, _) \
    F(cuLibraryLoadFromFile,         CALL, NONE, _, _, _, _) \
    F(cuLibraryUnload,               CALL, NONE, _, _, _, _) \
    F(cuGetProcAddress,              ADDRESS, NONE, 0, 1, _, _) \
    F(cuGetProcAddress_v2,           ADDRESS, NONE, 0, 1, _, _) \
    /* graphs and streams */ \
    F(cuGraphInstantiate_v2,         CALL, NONE, _, _, _, _) \
    F(cuGraphInstantiateWithFlags,   CALL, NONE, _, _, _, _) \
    F(cuGraphInstantiateWithParams,  CALL, NONE, _, _, _, _) \
    F(cuGraphExecDestroy,            CALL, NONE, _, _, _, _) \
    F(cuStreamCreate,                CALL, NONE, _, _, _, _) \
    F(cuStreamCreateWithPriority,    CALL, NONE, _, _, _, _) \
    F(cuStreamDestroy_v2,            CALL, NONE, _, _, _, _) \
    F(cuMemPoolCreate,               CALL, NONE, _, _, _, _) \
    F(cuMemPoolDestroy,              CALL, NONE, _, _, _, _) \
    F(cuMemPoolTrimTo,               CALL, NONE, _, _, _, _) \
    F(cuMemSetAccess,                CALL, NONE, _, _, _, _) \
    F(cuMemAddressReserve,           CALL, NONE, _, _, _, _) \
    F(cuMemAddressFree,              CALL, NONE, _, _, _, _) \
    /* contexts */ \
    F(cuInit,                        CALL, NONE, _, _, _, _) \
    F(cuCtxCreate_v2,                CONTEXT_MADE, NONE, 0, 2, _, _) \
    F(cuCtxCreate_v3,                CONTEXT_MADE, NONE, 0, 4, _, _) \
    F(cuCtxCreate_v4,                CONTEXT_MADE, NONE, 0, 3, _, _) \
    F(cuDevicePrimaryCtxRetain,      CONTEXT_FOUND, NONE, 0, 1, _, _) \
    F(cuCtxSetCurrent,               CONTEXT_SET, NONE, 0, _, _, _) \
    F(cuCtxPushCurrent_v2,           CONTEXT_PUSHED, NONE, 0, _, _, _) \
    F(cuCtxPopCurrent_v2,            CONTEXT_POPPED, NONE, _, _, _, _) \
    F(cuCtxDestroy_v2,               CONTEXT_ENDED, NONE, 0, _, _, _) \
    F(cuDevicePrimaryCtxReset_v2,    CALL, NONE, _, _, _, _) \
    F(cuDevicePrimaryCtxRelease_v2,  CALL, NONE, _, _, _, _) \
    /* questions, which are only probed as questions.h says */ \
    F(cuCtxGetCurrent,               CONTEXT_GOT, NONE, 0, _, _, _) \
    F(cuCtxGetDevice,                DEVICE_GOT, NONE, 0, _, _, _) \
    F(cuCtxGetDevice_v2,             DEVICE_GOT, NONE, 0, 1, _, _)
// clang-format on
