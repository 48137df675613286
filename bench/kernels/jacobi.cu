// jacobi HOW …: the sweep of the sample of that name over a plate of 8192 columns and 2048 rows a GPU. A launch is one iteration.
//   HOW         a GPU's first and last row
//   store       are stored to its neighbours by the sweep
//   copy        are copied to them after the sweep: no kernel touches another GPU's memory
//   reference   have no neighbour: a plate on GPU 0 alone, after one over all GPUs that stores
#define main sample_main
#include "../../sample_traces/jacobi.cu"
#undef main

#include <string_view>

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

class Plate {
  public:
    // On GPUs 0 to gpus - 1.
    Plate(int gpus, bool copies) : copies_(copies), parts_(gpus) {
        for (int g = 0; g < gpus; ++g) {
            Part& part = parts_[g];
            part.first = 1 + g * kRows;
            part.rows = kRows;
            CHECK(cudaSetDevice(g));
            CHECK(cudaStreamCreate(&part.stream));
            for (int k = 0; k < 2; ++k) {
                CHECK(cudaEventCreateWithFlags(&part.done[k], cudaEventDisableTiming));
                CHECK(cudaMalloc(&part.grid[k], kBytes));
                CHECK(cudaMemcpy(part.grid[k], rows_of(part.first, last_row(), k == 0).data(), kBytes, cudaMemcpyDefault));
            }
            CHECK(cudaDeviceSynchronize());
        }
    }

    void iterate() {
        const int now = iteration_ % 2, next = 1 - now;
        const int gpus = static_cast<int>(parts_.size());
        for (int g = 0; g < gpus; ++g) {
            const Part& part = parts_[g];
            const Part* above = g > 0 ? &parts_[g - 1] : nullptr;
            const Part* below = g + 1 < gpus ? &parts_[g + 1] : nullptr;
            float* up = above ? above->grid[next] + (kRows + 1) * kColumns : nullptr;
            float* down = below ? below->grid[next] : nullptr;
            CHECK(cudaSetDevice(g));
            for (const Part* neighbour : {above, below})
                if (neighbour && iteration_ > 0) CHECK(cudaStreamWaitEvent(part.stream, neighbour->done[next], 0));
            sweep<<<dim3(kRows, kColumns / kBlock), kBlock, 0, part.stream>>>(part.grid[now], part.grid[next], copies_ ? nullptr : up,
                                                                              copies_ ? nullptr : down, kColumns, kRows, kColumns);
            CHECK(cudaGetLastError());
            if (copies_) {
                constexpr size_t kRow = kColumns * sizeof(float);
                if (up) CHECK(cudaMemcpyPeerAsync(up, g - 1, part.grid[next] + kColumns, g, kRow, part.stream));
                if (down) CHECK(cudaMemcpyPeerAsync(down, g + 1, part.grid[next] + kRows * kColumns, g, kRow, part.stream));
            }
            CHECK(cudaEventRecord(part.done[now], part.stream));
        }
        ++iteration_;
    }

    void wait() const {
        for (const Part& part : parts_) CHECK(cudaStreamSynchronize(part.stream));
    }

    // After two iterations. The second grid began without values inside: every one there now came out of a sweep, as did the halos that it
    // needed.
    bool right() const {
        size_t wrong = 0;
        for (const Part& part : parts_) {
            const std::vector<float> expected = rows_of(part.first, last_row(), true);
            std::vector<float> result(expected.size());
            for (const float* grid : part.grid) {
                CHECK(cudaMemcpy(result.data(), grid, kBytes, cudaMemcpyDefault));
                for (int i = kColumns; i < (kRows + 1) * kColumns; ++i) wrong += result[i] != expected[i];
            }
        }
        return wrong == 0;
    }

  private:
    static constexpr size_t kBytes = (kRows + 2) * kColumns * sizeof(float);

    int last_row() const { return static_cast<int>(parts_.size()) * kRows + 1; }

    bool copies_;
    int iteration_ = 0;
    std::vector<Part> parts_;
};

int main(int argc, char** argv) {
    const std::string_view how = argc > 1 ? argv[1] : "";
    if (how != "store" && how != "copy" && how != "reference") {
        std::fputs("usage: jacobi store|copy|reference REPETITIONS LAUNCHES\n", stderr);
        return 2;
    }
    const Arguments arguments = read_arguments(argc - 1, argv + 1);
    const int gpus = open_gpus("jacobi");
    Plate plate(gpus, how == "copy");
    Measurement measurement(arguments);
    const auto measure = [&](Plate& measured) { measurement.by_clock([&] { measured.iterate(); }, [&] { measured.wait(); }); };
    if (how != "reference") {
        measure(plate);
        return measurement.report(plate.right());
    }
    plate.iterate();
    plate.iterate();
    plate.wait();
    Plate reference(1, false);
    measure(reference);
    return measurement.report(plate.right() && reference.right());
}
