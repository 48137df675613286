#include "launches/tensor_map_check.h"

#include "probe/tensor_map.h"

namespace snoopie {

bool tensor_map_is_as_expected(const cuTensorMapEncodeTiled_params& call) {
    if (call.interleave != CU_TENSOR_MAP_INTERLEAVE_NONE) return true;
    TensorMap expected;
    expected.address = reinterpret_cast<uint64_t>(call.globalAddress);
    expected.rank = call.tensorRank;
    for (uint32_t k = 0; k < call.tensorRank && k < kMaxRank; ++k) {
        expected.size[k] = call.globalDim[k];
        if (k > 0) expected.stride[k] = call.globalStrides[k - 1];
        expected.box[k] = call.boxDim[k];
        expected.step[k] = call.elementStrides[k];
    }
    const TensorMap decoded = decode_tensor_map(reinterpret_cast<const uint64_t*>(call.tensorMap));
    // A type of packed small elements is not decoded, and then not measured; that is not a surprise.
    return decoded.rank == 0 || same_tensor(decoded, expected);
}

}  // namespace snoopie
