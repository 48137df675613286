// jacobi: the sweep of the sample of that name over a plate of 8192 columns and 2048 rows a GPU. A launch is one iteration.
#define main sample_main
#include "../../sample_traces/jacobi.cu"
#undef main

#include "bench.cuh"

constexpr int kColumns = 8192;
constexpr int kRows = 2048;  // of a GPU, without halos

// The plate's value, which a sweep leaves as it is: the mean of the four neighbours, and exact.
float steady(int x, int y) { return x + y; }

// Rows [first - 1, first + kRows] of the plate. `inside`: also what is not held fixed.
std::vector<float> rows_of(int first, int last_of_plate, bool inside) {
    std::vector<float> rows((kRows + 2) * kColumns, -1.0f);
    for (int r = 0; r < kRows + 2; ++r) {
        const int y = first - 1 + r;
        const bool edge_row = y == 0 || y == last_of_plate;
        for (int x = 0; x < kColumns; ++x)
            if (inside || edge_row || x == 0 || x == kColumns - 1) rows[r * kColumns + x] = steady(x, y);
    }
    return rows;
}

int main(int argc, char** argv) {
    const Arguments arguments = read_arguments(argc, argv);
    const int gpus = open_gpus("jacobi");
    const int last_of_plate = gpus * kRows + 1;
    const size_t bytes = (kRows + 2) * kColumns * sizeof(float);

    std::vector<Part> parts(gpus);
    for (int g = 0; g < gpus; ++g) {
        Part& part = parts[g];
        part.first = 1 + g * kRows;
        part.rows = kRows;
        CHECK(cudaSetDevice(g));
        CHECK(cudaStreamCreate(&part.stream));
        for (int k = 0; k < 2; ++k) {
            CHECK(cudaEventCreateWithFlags(&part.done[k], cudaEventDisableTiming));
            CHECK(cudaMalloc(&part.grid[k], bytes));
            CHECK(cudaMemcpy(part.grid[k], rows_of(part.first, last_of_plate, k == 0).data(), bytes, cudaMemcpyDefault));
        }
        CHECK(cudaDeviceSynchronize());
    }

    int iteration = 0;
    Measurement measurement(arguments);
    measurement.by_clock(
        [&] {
            const int now = iteration % 2, next = 1 - now;
            for (int g = 0; g < gpus; ++g) {
                Part& part = parts[g];
                Part* above = g > 0 ? &parts[g - 1] : nullptr;
                Part* below = g + 1 < gpus ? &parts[g + 1] : nullptr;
                CHECK(cudaSetDevice(g));
                for (Part* neighbour : {above, below})
                    if (neighbour && iteration > 0) CHECK(cudaStreamWaitEvent(part.stream, neighbour->done[next], 0));
                sweep<<<dim3(kRows, kColumns / kBlock), kBlock, 0, part.stream>>>(
                    part.grid[now], part.grid[next], above ? above->grid[next] + (kRows + 1) * kColumns : nullptr,
                    below ? below->grid[next] : nullptr, kColumns, kRows, kColumns);
                CHECK(cudaGetLastError());
                CHECK(cudaEventRecord(part.done[now], part.stream));
            }
            ++iteration;
        },
        [&] {
            for (const Part& part : parts) CHECK(cudaStreamSynchronize(part.stream));
        });

    // The second grid began without values inside: every one there now came out of a sweep, as did the halos that it needed.
    size_t wrong = 0;
    for (const Part& part : parts) {
        const std::vector<float> expected = rows_of(part.first, last_of_plate, true);
        std::vector<float> result(expected.size());
        for (const float* grid : part.grid) {
            CHECK(cudaMemcpy(result.data(), grid, bytes, cudaMemcpyDefault));
            for (int i = kColumns; i < (kRows + 1) * kColumns; ++i) wrong += result[i] != expected[i];
        }
    }
    return measurement.report(wrong == 0);
}
