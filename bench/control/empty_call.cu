// The function injected before every global access. No __global__ here: ptxas refuses kernels with the options that such functions need.
extern "C" __device__ __noinline__ void empty_call() {}
