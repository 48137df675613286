// nvcc -arch=sm_90 -cubin switch.cu: a switch that is an indirect branch
__global__ void chosen(float* data, int how, int rounds) {
    float value = data[threadIdx.x];
    switch (how) {
        case 0:
            for (int i = 0; i < rounds; ++i) value = value * value + static_cast<float>(i);
            break;
        case 1:
            value = __expf(value);
            break;
        case 2:
            for (int i = 0; i < rounds; ++i) value = 1 / value - static_cast<float>(i);
            break;
        case 3:
            value = data[rounds];
            break;
        case 4:
            value = data[static_cast<int>(value)];
            break;
        default:
            return;
    }
    data[threadIdx.x] = value;
}

__global__ void plain(float* data) { data[threadIdx.x] = 1; }
