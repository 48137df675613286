// gemm: the product of two matrices of 1024 x 1024 words, by tiles in shared memory. Each step of the loop over tiles loads a word of
// either matrix; a store ends it. All local.
#include "bench.cuh"

constexpr int kSide = 1024;
constexpr int kTile = 32;

__global__ void gemm(const float* a, const float* b, float* c, int n) {
    __shared__ float tile_a[kTile][kTile], tile_b[kTile][kTile];
    const int row = blockIdx.y * kTile + threadIdx.y;
    const int column = blockIdx.x * kTile + threadIdx.x;
    float sum = 0;
    for (int first = 0; first < n; first += kTile) {
        tile_a[threadIdx.y][threadIdx.x] = a[row * n + first + threadIdx.x];
        tile_b[threadIdx.y][threadIdx.x] = b[(first + threadIdx.y) * n + column];
        __syncthreads();
#pragma unroll
        for (int k = 0; k < kTile; ++k) sum += tile_a[threadIdx.y][k] * tile_b[k][threadIdx.x];
        __syncthreads();
    }
    c[row * n + column] = sum;
}

// A is left(row) x inner(k) and B is inner(k) x right(column), so that C is left x right x the sum of inner's squares: small whole numbers,
// which are exact in any order.
float left(int row) { return row % 5 + 1; }
float inner(int k) { return k % 7; }
float right(int column) { return column % 3 + 1; }

int main(int argc, char** argv) {
    const Arguments arguments = read_arguments(argc, argv);
    prepare_gpu("gemm", arguments);

    std::vector<float> matrix_a(kSide * kSide), matrix_b(matrix_a.size()), matrix_c(matrix_a.size());
    float squares = 0;
    for (int i = 0; i < kSide; ++i) {
        squares += inner(i) * inner(i);
        for (int j = 0; j < kSide; ++j) {
            matrix_a[i * kSide + j] = left(i) * inner(j);
            matrix_b[i * kSide + j] = inner(i) * right(j);
        }
    }
    const size_t bytes = matrix_a.size() * sizeof(float);
    float *a = nullptr, *b = nullptr, *c = nullptr;
    CHECK(cudaMalloc(&a, bytes));
    CHECK(cudaMalloc(&b, bytes));
    CHECK(cudaMalloc(&c, bytes));
    CHECK(cudaMemcpy(a, matrix_a.data(), bytes, cudaMemcpyDefault));
    CHECK(cudaMemcpy(b, matrix_b.data(), bytes, cudaMemcpyDefault));

    Measurement measurement(arguments);
    measurement.by_events([&] {
        gemm<<<dim3(kSide / kTile, kSide / kTile), dim3(kTile, kTile)>>>(a, b, c, kSide);
        CHECK(cudaGetLastError());
    });

    CHECK(cudaMemcpy(matrix_c.data(), c, bytes, cudaMemcpyDefault));
    size_t wrong = 0;
    for (int i = 0; i < kSide; ++i)
        for (int j = 0; j < kSide; ++j) wrong += matrix_c[i * kSide + j] != left(i) * right(j) * squares;
    return measurement.report(wrong == 0);
}
