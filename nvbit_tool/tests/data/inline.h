#pragma once

__device__ inline void put(float* to, float value) {
    *to = value;  // put
}

template <class Value>
__device__ void neighbour(float* to, int i, Value value) {
    put(to + i, value(i));  // neighbour
}
