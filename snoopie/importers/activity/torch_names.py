"""What PyTorch calls collectives and types of elements, and what NCCL calls them."""

from __future__ import annotations

# Names of PyTorch and of torchcomms → those of NCCL; a name that is not here is spelled as they do.
OPERATIONS = {
    "allreduce": "AllReduce", "allreduce_coalesced": "AllReduce", "allreduce_sparse": "AllReduce",
    "all_reduce": "AllReduce", "all_reduce_coalesced": "AllReduce", "all_reduce_barrier": "AllReduce",
    "_all_gather_base": "AllGather", "all_gather_into_tensor_coalesced": "AllGather", "barrier": "AllReduce",
    "broadcast": "Broadcast", "_broadcast_oop": "Broadcast", "reduce": "Reduce",
    "_reduce_oop": "Reduce", "allgather": "AllGather", "all_gather": "AllGather", "_allgather_base": "AllGather",
    "allgather_coalesced": "AllGather", "allgather_into_tensor_coalesced": "AllGather",
    "reduce_scatter": "ReduceScatter", "_reduce_scatter_base": "ReduceScatter",
    "reduce_scatter_tensor_coalesced": "ReduceScatter", "all_to_all": "AlltoAll", "all_to_allv": "AlltoAll",
    "all_gather_v": "AllGather", "all_gather_single": "AllGather", "reduce_scatter_v": "ReduceScatter",
    "reduce_scatter_single": "ReduceScatter", "all_to_all_single": "AlltoAll", "all_to_all_v_single": "AlltoAll",
    "gather_single": "Gather",
    "alltoall": "AlltoAll", "alltoall_base": "AlltoAll", "gather": "Gather", "scatter": "Scatter", "send": "Send",
    "recv": "Recv",
}  # fmt: skip
# What a rank passes to NCCL as the count: of these the elements that it gets, else those that it gives.
BY_OUTPUT = ("ReduceScatter", "Recv", "Scatter")
# Types of PyTorch → names as NCCL's header has them where it has the type, and bytes.
TYPES = {
    "Float": ("float32", 4), "Double": ("float64", 8), "Half": ("float16", 2), "BFloat16": ("bfloat16", 2),
    "Char": ("int8", 1), "Byte": ("uint8", 1), "Int": ("int32", 4), "UInt32": ("uint32", 4), "Long": ("int64", 8),
    "UInt64": ("uint64", 8), "Short": ("int16", 2), "UInt16": ("uint16", 2), "Bool": ("bool", 1),
    "Float8_e4m3fn": ("float8e4m3", 1), "Float8_e4m3fnuz": ("float8e4m3", 1), "Float8_e5m2": ("float8e5m2", 1),
    "Float8_e5m2fnuz": ("float8e5m2", 1), "ComplexFloat": ("complex64", 8), "ComplexDouble": ("complex128", 16),
    "ComplexHalf": ("complex32", 4),
}  # fmt: skip
