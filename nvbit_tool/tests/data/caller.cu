// linked.sm_XX.cubin:  nvcc -rdc=true -arch=sm_XX -lineinfo caller.cu callee.cu -o linked; cuobjdump -xelf all linked   (13.0, in /home/u)
#include "inline.h"

__device__ void far(float* to, int n);

__global__ void kernel(float* to, int n) {
    put(to + n, 1);  // kernel
    far(to, n);
}

__global__ void removed(float* to) { put(to, 1); }

int main() { kernel<<<1, 1>>>(nullptr, 1); }
