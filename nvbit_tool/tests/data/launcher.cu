// nvcc -arch=sm_90 -rdc=true -cubin launcher.cu
__global__ void child(int* p) { p[threadIdx.x] = 1; }
__global__ void parent(int* p) { child<<<1, 32>>>(p); }
__global__ void bystander(int* p) { p[0] = 2; }
