// What programs of one process a GPU share: which process this is, and how rank 0 tells the others an id.
#pragma once

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "common.cuh"

struct Place {
    int rank;
    int ranks;
};

// NVLink multicast can put switches that others share out of service: no library may try it. Before the first call of a library.
inline void without_multicast() {
    setenv("NCCL_NVLS_ENABLE", "0", 1);
    setenv("NVSHMEM_DISABLE_NVLS", "1", 1);
}

// This process's place, as its launcher says: one that follows PyTorch, Open MPI, MPICH or Slurm. Its GPU is made the current one.
// Leaves the program where no launcher says it, or where the GPUs do not suffice.
inline Place take_place(const char* program) {
    static const char* const kLaunchers[][2] = {{"RANK", "WORLD_SIZE"},
                                                {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                                {"PMI_RANK", "PMI_SIZE"},
                                                {"SLURM_PROCID", "SLURM_NTASKS"}};
    const char* usage = "run it by a launcher, or with RANK and WORLD_SIZE set";
    for (const auto& launcher : kLaunchers) {
        const char* rank = std::getenv(launcher[0]);
        if (rank == nullptr) continue;
        Place place{};
        place.ranks = argument(std::getenv(launcher[1]), 1, 1024, usage);
        place.rank = argument(rank, 0, place.ranks - 1, usage);
        int gpus = 0;
        const cudaError_t status = cudaGetDeviceCount(&gpus);
        if (status != cudaErrorNoDevice) CHECK(status);
        if (place.ranks < 2 || gpus < place.ranks) {
            std::printf("%s: needs two ranks and a GPU for each, is one of %d ranks and sees %d GPUs\n", program, place.ranks, gpus);
            std::exit(kCannotRun);
        }
        CHECK(cudaSetDevice(place.rank));
        return place;
    }
    std::fprintf(stderr, "usage: %s: %s\n", program, usage);
    std::exit(2);
}

// Gives the id of rank 0 to all ranks, through a file that is not there before.
template <typename Id>
void share(Id* id, int rank, const std::string& path) {
    if (rank == 0) {
        const std::string unfinished = path + ".part";
        std::FILE* file = std::fopen(unfinished.c_str(), "wb");
        const bool written = file != nullptr && std::fwrite(id, sizeof *id, 1, file) == 1;
        if (!written || std::fclose(file) != 0 || std::rename(unfinished.c_str(), path.c_str()) != 0) {
            std::perror(path.c_str());
            std::exit(1);
        }
        return;
    }
    for (int tries = 0; tries < 6000; ++tries) {
        if (std::FILE* file = std::fopen(path.c_str(), "rb")) {
            const bool read = std::fread(id, sizeof *id, 1, file) == 1;
            std::fclose(file);
            if (read) return;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    std::fprintf(stderr, "%s: rank 0 wrote no id within a minute\n", path.c_str());
    std::exit(1);
}
