// textures OWNER: GPU 0 reads textures and surfaces, whose traffic cannot be measured, beside a load that can. Its first texture
// lies in linear memory of GPU OWNER, its other ones in arrays of its own.
//
// 512 threads in 4 blocks. How often warps execute each instruction, and their threads, over all launches:
//   kernel  line    what                                        accesses  lanes
//   fetch   fetch   word i of the linear memory                 16        512
//   some    some    the same, for i < 100, then for i < 300     4 + 10    400
//   none    none    the same, for i < 0                         0         0
//   sample  sample  element i of an array, through a texture    16        512
//   move    read    element i of an array, through a surface    16        512
//           write   element i of another, through a surface     16        512
// Remote traffic, measured as ever:
//   kernel  operation  accesses  lanes  bytes/lane  sectors
//   load    load       16        512    4           64         from GPU 1
#include <cstdint>
#include <vector>

#include "common.cuh"

constexpr uint32_t kBlocks = 4;
constexpr uint32_t kBlock = 128;
constexpr uint32_t kThreads = kBlocks * kBlock;
constexpr uint32_t kWidth = 32;  // elements of an array's row

__device__ uint32_t thread() { return blockIdx.x * kBlock + threadIdx.x; }

__global__ void fetch(cudaTextureObject_t words, uint32_t* to) { to[thread()] = tex1Dfetch<uint32_t>(words, thread()); }

__global__ void some(cudaTextureObject_t words, uint32_t* to, uint32_t end) {
    const uint32_t i = thread();
    if (i < end) to[i] = tex1Dfetch<uint32_t>(words, i);
}

__global__ void none(cudaTextureObject_t words, uint32_t* to, uint32_t end) {
    const uint32_t i = thread();
    if (i < end) to[i] = tex1Dfetch<uint32_t>(words, i);
}

__global__ void sample(cudaTextureObject_t elements, uint32_t* to) {
    const float x = thread() % kWidth, y = thread() / kWidth;
    to[thread()] = tex2D<uint32_t>(elements, x + 0.5f, y + 0.5f);
}

__global__ void move(cudaSurfaceObject_t from, cudaSurfaceObject_t to) {
    const int x = thread() % kWidth * sizeof(uint32_t), y = thread() / kWidth;
    const uint32_t element = surf2Dread<uint32_t>(from, x, y);
    surf2Dwrite(element, to, x, y);
}

__global__ void load(const uint32_t* from, uint32_t* to) {
    to[thread()] = __ldg(&from[thread()]);  // remote: load
}

// Leaves the program where memory of another GPU cannot be a texture.
void check_texture(cudaError_t status, int owner) {
    if (owner == 0 || status == cudaSuccess) return CHECK(status);
    std::printf("textures: memory of another GPU as a texture: %s\n", cudaGetErrorString(status));
    std::exit(kCannotRun);
}

cudaArray_t make_array(const std::vector<uint32_t>& elements) {
    constexpr size_t kRow = kWidth * sizeof(uint32_t);
    cudaArray_t array;
    const cudaChannelFormatDesc format = cudaCreateChannelDesc<uint32_t>();
    CHECK(cudaMallocArray(&array, &format, kWidth, kThreads / kWidth, cudaArraySurfaceLoadStore));
    CHECK(cudaMemcpy2DToArray(array, 0, 0, elements.data(), kRow, kRow, kThreads / kWidth, cudaMemcpyHostToDevice));
    return array;
}

cudaResourceDesc resource_of(cudaArray_t array) {
    cudaResourceDesc resource{};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    return resource;
}

int main(int argc, char** argv) {
    const int owner = argument(argc == 2 ? argv[1] : nullptr, 0, 1, "textures OWNER    (0 or 1)");
    open_gpus("textures");
    std::vector<uint32_t> words(kThreads);
    for (uint32_t i = 0; i < kThreads; ++i) words[i] = 7 * i + 1;
    constexpr size_t kBytes = kThreads * sizeof(uint32_t);

    uint32_t *linear = nullptr, *remote = nullptr, *result = nullptr;
    CHECK(cudaSetDevice(owner));
    CHECK(cudaMalloc(&linear, kBytes));
    CHECK(cudaMemcpy(linear, words.data(), kBytes, cudaMemcpyHostToDevice));
    CHECK(cudaSetDevice(1));
    CHECK(cudaMalloc(&remote, kBytes));
    CHECK(cudaMemcpy(remote, words.data(), kBytes, cudaMemcpyHostToDevice));
    CHECK(cudaSetDevice(0));
    CHECK(cudaMalloc(&result, kBytes));

    bool all_right = true;
    // Whether the first `end` words have arrived. They are taken away again.
    const auto expect = [&](const char* name, uint32_t end) {
        std::vector<uint32_t> found(kThreads);
        CHECK(cudaMemcpy(found.data(), result, kBytes, cudaMemcpyDeviceToHost));
        CHECK(cudaMemset(result, 0, kBytes));
        bool right = true;
        for (uint32_t i = 0; i < kThreads; ++i) right = right && found[i] == (i < end ? words[i] : 0);
        std::printf("%s: %s\n", name, right ? "right" : "wrong");
        all_right = all_right && right;
    };

    cudaResourceDesc resource{};
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.devPtr = linear;
    resource.res.linear.desc = cudaCreateChannelDesc<uint32_t>();
    resource.res.linear.sizeInBytes = kBytes;
    cudaTextureDesc as_is{};
    as_is.readMode = cudaReadModeElementType;
    cudaTextureObject_t texture;
    check_texture(cudaCreateTextureObject(&texture, &resource, &as_is, nullptr), owner);
    CHECK(cudaMemset(result, 0, kBytes));
    fetch<<<kBlocks, kBlock>>>(texture, result);
    CHECK(cudaGetLastError());
    check_texture(cudaDeviceSynchronize(), owner);
    expect("fetch", kThreads);
    for (const uint32_t end : {100u, 300u}) {
        some<<<kBlocks, kBlock>>>(texture, result, end);
        CHECK(cudaGetLastError());
        expect("some", end);
    }
    none<<<kBlocks, kBlock>>>(texture, result, 0);
    CHECK(cudaGetLastError());
    expect("none", 0);

    const cudaArray_t from = make_array(words), to = make_array(std::vector<uint32_t>(kThreads));
    const cudaResourceDesc from_resource = resource_of(from), to_resource = resource_of(to);
    cudaTextureObject_t elements;
    CHECK(cudaCreateTextureObject(&elements, &from_resource, &as_is, nullptr));
    sample<<<kBlocks, kBlock>>>(elements, result);
    CHECK(cudaGetLastError());
    expect("sample", kThreads);

    cudaSurfaceObject_t from_surface, to_surface;
    CHECK(cudaCreateSurfaceObject(&from_surface, &from_resource));
    CHECK(cudaCreateSurfaceObject(&to_surface, &to_resource));
    move<<<kBlocks, kBlock>>>(from_surface, to_surface);
    CHECK(cudaGetLastError());
    constexpr size_t kRow = kWidth * sizeof(uint32_t);
    CHECK(cudaMemcpy2DFromArray(result, kRow, to, 0, 0, kRow, kThreads / kWidth, cudaMemcpyDeviceToDevice));
    expect("move", kThreads);

    load<<<kBlocks, kBlock>>>(remote, result);
    CHECK(cudaGetLastError());
    expect("load", kThreads);
    return verdict(all_right);
}
