// jacobi NX NY ITERS: heat in a plate of NX columns and NY rows whose edge is held fixed. The rows inside are split over
// all GPUs; each GPU stores its first and last row straight into the halo rows of its neighbours while it computes them.
//
// Remote traffic of one iteration, for each of the G - 1 cuts between neighbours, each way (up: to GPU i - 1, down: to i + 1):
//   kernel  operation  accesses            lanes     bytes/lane  sectors
//   sweep   store      (NX-2) / 32 + 1     NX - 2    4           (NX-2) / 8 + 1      rounded down
// Column x is thread x % 256 of its block and rows start at a sector; columns 1 to NX - 2 are inside the plate.
// The run on one GPU, which the result is checked against, and the residual touch no foreign memory.
#include <cmath>
#include <vector>

#include "common.cuh"

constexpr int kBlock = 256;

__global__ void sweep(const float* now, float* next, float* up, float* down, int nx, int rows, size_t pitch) {
    const int x = blockIdx.y * kBlock + threadIdx.x;
    const int y = blockIdx.x + 1;  // rows 0 and rows + 1 are halos
    if (x < 1 || x > nx - 2) return;
    const float* cell = now + y * pitch + x;
    const float value = 0.25f * ((cell[-1] + cell[1]) + (*(cell - pitch) + *(cell + pitch)));
    next[y * pitch + x] = value;
    if (up != nullptr && y == 1) up[x] = value;         // remote: up
    if (down != nullptr && y == rows) down[x] = value;  // remote: down
}

// Squares of the last change, summed over each row in an order that does not depend on where the row lives.
__global__ void residual(const float* before, const float* after, double* row_sums, int nx, size_t pitch) {
    __shared__ double sums[kBlock];
    const size_t row = (blockIdx.x + 1) * pitch;
    double sum = 0;
    for (int x = 1 + threadIdx.x; x <= nx - 2; x += kBlock) {
        const double change = double(after[row + x]) - double(before[row + x]);
        sum += change * change;
    }
    sums[threadIdx.x] = sum;
    for (int half = kBlock / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    }
    if (threadIdx.x == 0) row_sums[blockIdx.x] = sums[0];
}

struct Part {
    int first, rows;  // rows [first, first + rows) of the plate, without halos
    cudaStream_t stream;
    cudaEvent_t done[2];  // end of the last even and of the last odd iteration
    float* grid[2];       // rows + 2 rows of `pitch` words; iteration k reads grid[k % 2]
    double* row_sums;
};

struct Result {
    std::vector<float> plate;  // NX x NY
    double residual;
};

// The plate before the first iteration, NX x NY: hot at the top, warm at the left, cold elsewhere.
std::vector<float> cold_plate(int nx, int ny) {
    std::vector<float> plate(size_t(nx) * ny, 0.0f);
    for (int y = 0; y < ny; ++y) plate[size_t(y) * nx] = 0.5f;
    for (int x = 0; x < nx; ++x) plate[x] = 1.0f;
    return plate;
}

// ITERS iterations on GPUs 0 to gpus - 1.
Result solve(int gpus, int nx, int ny, int iterations) {
    Result result{cold_plate(nx, ny), 0};
    const size_t pitch = (nx + 31) / 32 * 32;
    const size_t width = nx * sizeof(float), stride = pitch * sizeof(float);

    std::vector<Part> parts(gpus);
    for (int g = 0, first = 1; g < gpus; first += parts[g++].rows) {
        Part& part = parts[g];
        part.first = first;
        part.rows = (ny - 2) / gpus + (g < (ny - 2) % gpus);
        CHECK(cudaSetDevice(g));
        CHECK(cudaStreamCreate(&part.stream));
        CHECK(cudaMalloc(&part.row_sums, part.rows * sizeof(double)));
        for (int k = 0; k < 2; ++k) {
            CHECK(cudaEventCreateWithFlags(&part.done[k], cudaEventDisableTiming));
            CHECK(cudaMalloc(&part.grid[k], (part.rows + 2) * stride));
            CHECK(
                cudaMemcpy2D(part.grid[k], stride, &result.plate[size_t(first - 1) * nx], width, width, part.rows + 2, cudaMemcpyDefault));
        }
        CHECK(cudaDeviceSynchronize());
    }

    for (int k = 0; k < iterations; ++k) {
        const int now = k % 2, next = 1 - now;
        for (int g = 0; g < gpus; ++g) {
            Part& part = parts[g];
            Part* above = g > 0 ? &parts[g - 1] : nullptr;
            Part* below = g + 1 < gpus ? &parts[g + 1] : nullptr;
            CHECK(cudaSetDevice(g));
            // A neighbour's iteration before this one filled our halo, and was the last to read the halo that we now fill.
            for (Part* neighbour : {above, below}) {
                if (neighbour != nullptr && k > 0) CHECK(cudaStreamWaitEvent(part.stream, neighbour->done[next], 0));
            }
            sweep<<<dim3(part.rows, (nx + kBlock - 1) / kBlock), kBlock, 0, part.stream>>>(
                part.grid[now], part.grid[next], above ? above->grid[next] + (above->rows + 1) * pitch : nullptr,
                below ? below->grid[next] : nullptr, nx, part.rows, pitch);
            CHECK(cudaGetLastError());
            CHECK(cudaEventRecord(part.done[now], part.stream));
        }
    }

    const int last = iterations % 2;
    for (int g = 0; g < gpus; ++g) {
        Part& part = parts[g];
        std::vector<double> row_sums(part.rows);
        CHECK(cudaSetDevice(g));
        residual<<<part.rows, kBlock, 0, part.stream>>>(part.grid[1 - last], part.grid[last], part.row_sums, nx, pitch);
        CHECK(cudaGetLastError());
        CHECK(cudaStreamSynchronize(part.stream));
        CHECK(cudaMemcpy(row_sums.data(), part.row_sums, part.rows * sizeof(double), cudaMemcpyDefault));
        CHECK(cudaMemcpy2D(&result.plate[size_t(part.first) * nx], width, part.grid[last] + pitch, stride, width, part.rows,
                           cudaMemcpyDefault));
        for (double sum : row_sums) result.residual += sum;
    }
    for (int g = 0; g < gpus; ++g) {
        CHECK(cudaSetDevice(g));
        CHECK(cudaStreamDestroy(parts[g].stream));
        CHECK(cudaFree(parts[g].row_sums));
        for (int k = 0; k < 2; ++k) {
            CHECK(cudaEventDestroy(parts[g].done[k]));
            CHECK(cudaFree(parts[g].grid[k]));
        }
    }
    result.residual = std::sqrt(result.residual);
    return result;
}

int main(int argc, char** argv) {
    const char* usage = "jacobi NX NY ITERS    (NX and NY from 3 to 32768, ITERS from 1; at least one inner row a GPU)";
    const int nx = argument(argc == 4 ? argv[1] : nullptr, 3, 32768, usage);
    const int ny = argument(argc == 4 ? argv[2] : nullptr, 3, 32768, usage);
    const int iterations = argument(argc == 4 ? argv[3] : nullptr, 1, 1 << 30, usage);
    const int gpus = open_gpus("jacobi");
    argument(argv[2], gpus + 2, 32768, usage);

    const Result many = solve(gpus, nx, ny, iterations);
    const Result one = solve(1, nx, ny, iterations);
    size_t different = 0;
    for (size_t i = 0; i < one.plate.size(); ++i) different += many.plate[i] != one.plate[i];
    std::printf("jacobi: %d x %d, %d iterations\n", nx, ny, iterations);
    std::printf("%d GPUs: residual %.9e\n", gpus, many.residual);
    std::printf("one GPU: residual %.9e, %zu cells differ\n", one.residual, different);
    return verdict(many.residual == one.residual && different == 0);
}
