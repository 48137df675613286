// halo FILE ROWS COLUMNS ITERS: heat that spreads on a torus, ROWS of its rows on each PE, by NVSHMEM, one process a GPU.
//
// A launcher says which PE this is; PE 0 tells the others how to reach it through FILE. COLUMNS is a multiple of 1024.
// Remote traffic of one iteration of each PE (sectors are of 32 bytes; all rows start at a sector):
//   kernel  line  operation  to the PE   accesses        lanes        bytes/lane  sectors
//   relax   up    store      above       COLUMNS / 32    COLUMNS      4           COLUMNS / 8    each thread its element of the first row
//   push    down  store      below       COLUMNS / 128   COLUMNS / 4  16          COLUMNS / 8    each block 1024 elements of the last row
#include <utility>
#include <vector>

#include "nvshmem_common.cuh"

constexpr unsigned kBlock = 256;
constexpr unsigned kPart = 1024;

// Row 0 is the last row of the PE above, rows 1 … ROWS are this PE's own, and the one after them is the first of the PE below.
__global__ void relax(const float* from, float* to, int rows, int columns, int above) {
    const int column = blockIdx.x * kBlock + threadIdx.x;
    const int row = blockIdx.y + 1;
    const size_t at = size_t(row) * columns;
    const float left = from[at + (column + columns - 1) % columns];
    const float right = from[at + (column + 1) % columns];
    const float value = 0.25f * (from[at - columns + column] + from[at + columns + column] + (left + right));
    to[at + column] = value;
    if (row == 1) nvshmem_float_p(&to[size_t(rows + 1) * columns + column], value, above);  // remote: up
}

__global__ void push(float* grid, int rows, int columns, int below) {
    const size_t part = blockIdx.x * kPart;
    nvshmemx_float_put_block(grid + part, grid + size_t(rows) * columns + part, kPart, below);  // remote: down
}

float at_start(int row, int column) { return float((row * 31 + column * 17) % 1024); }

// The same on the host: the whole torus after so many iterations.
std::vector<float> expected(int rows, int columns, int iterations) {
    std::vector<float> from(size_t(rows) * columns), to(from.size());
    for (int row = 0; row < rows; ++row)
        for (int column = 0; column < columns; ++column) from[size_t(row) * columns + column] = at_start(row, column);
    for (int iteration = 0; iteration < iterations; ++iteration) {
        for (int row = 0; row < rows; ++row) {
            const float* const up = &from[size_t((row + rows - 1) % rows) * columns];
            const float* const here = &from[size_t(row) * columns];
            const float* const down = &from[size_t((row + 1) % rows) * columns];
            for (int column = 0; column < columns; ++column) {
                const float sides = here[(column + columns - 1) % columns] + here[(column + 1) % columns];
                to[size_t(row) * columns + column] = 0.25f * (up[column] + down[column] + sides);
            }
        }
        std::swap(from, to);
    }
    return from;
}

int main(int argc, char** argv) {
    const char* usage = "halo FILE ROWS COLUMNS ITERS    (from 1 to 65535, a multiple of 1024 to 65536, from 1 to 2^20)";
    const int rows = argument(argc == 5 ? argv[2] : nullptr, 1, 65535, usage);
    const int columns = argument(argc == 5 ? argv[3] : nullptr, kPart, 65536, usage);
    const int iterations = argument(argc == 5 ? argv[4] : nullptr, 1, 1 << 20, usage);
    if (columns % kPart != 0) argument(nullptr, 0, 0, usage);
    join("halo", argv[1]);
    const int me = nvshmem_my_pe();
    const int pes = nvshmem_n_pes();
    const int above = (me + pes - 1) % pes;
    const int below = (me + 1) % pes;

    const size_t elements = size_t(rows + 2) * columns;
    float* const grids[] = {symmetric<float>(elements), symmetric<float>(elements)};
    std::vector<float> start(elements);
    for (int row = 0; row < rows + 2; ++row)
        for (int column = 0; column < columns; ++column)
            start[size_t(row) * columns + column] = at_start((me * rows + row - 1 + pes * rows) % (pes * rows), column);
    CHECK(cudaMemcpy(grids[0], start.data(), elements * sizeof(float), cudaMemcpyDefault));
    nvshmem_barrier_all();

    for (int iteration = 0; iteration < iterations; ++iteration) {
        float* const from = grids[iteration % 2];
        float* const to = grids[(iteration + 1) % 2];
        relax<<<dim3(columns / kBlock, rows), kBlock>>>(from, to, rows, columns, above);
        CHECK(cudaGetLastError());
        push<<<columns / kPart, kBlock>>>(to, rows, columns, below);
        CHECK(cudaGetLastError());
        nvshmemx_barrier_all_on_stream(nullptr);
    }
    CHECK(cudaDeviceSynchronize());

    const std::vector<float> torus = expected(pes * rows, columns, iterations);
    std::vector<float> own(size_t(rows) * columns);
    CHECK(cudaMemcpy(own.data(), grids[iterations % 2] + columns, own.size() * sizeof(float), cudaMemcpyDefault));
    size_t wrong = 0;
    for (size_t i = 0; i < own.size(); ++i) wrong += own[i] != torus[me * own.size() + i];
    std::printf("halo: PE %d of %d: %d rows of %d columns, %d iterations: %zu wrong\n", me, pes, rows, columns, iterations, wrong);
    nvshmem_finalize();
    return verdict(wrong == 0);
}
