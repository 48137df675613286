#include "libraries/cupti_calls.h"

#include <cstring>

#include "libraries/preloaded.h"

namespace snoopie {

namespace {

using Subscribe = int(void** subscriber, void* callback, void* data);
using SubscribeV2 = int(void** subscriber, void* callback, void* data, void* parameters);

constexpr char kSubscribe[] = "cuptiSubscribe", kSubscribeV2[] = "cuptiSubscribe_v2";
constexpr char kFails[] = "fails with CUPTI_ERROR_UNKNOWN";
constexpr int kUnknownError = 999;
// CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED, and what it was before CUDA 12.
constexpr int kThereIsAnother = 39, kMostAreThere = 12;

int answered(int result) {
    static std::atomic<bool> said{false};
    if ((result == kThereIsAnother || result == kMostAreThere) && nvbit_was_first && !said.exchange(true))
        say("the program's own profiler, which uses CUPTI, is refused, because the driver serves one tool of a process: "
            "what it reports lacks the GPU; profile in a run without Snoopie");
    return result;
}

std::atomic<Subscribe*> looked_up{nullptr};
std::atomic<SubscribeV2*> looked_up_v2{nullptr};

int subscribe_looked_up(void** subscriber, void* callback, void* data) { return answered(looked_up.load()(subscriber, callback, data)); }
int subscribe_v2_looked_up(void** subscriber, void* callback, void* data, void* parameters) {
    return answered(looked_up_v2.load()(subscriber, callback, data, parameters));
}

// Of the first CUPTI that is looked up; a process has no second one. Where there is none, who looks is not to find this library's.
template <class Function>
void* instead(const char* name, std::atomic<Function*>* known, void* found, Function* own, Function* exported) {
    auto* const real = reinterpret_cast<Function*>(found);
    if (real == exported) return next_function(name, nullptr) ? found : nullptr;
    if (!real) return nullptr;
    Function* before = nullptr;
    return known->compare_exchange_strong(before, real) || before == real ? reinterpret_cast<void*>(own) : found;
}

}  // namespace

}  // namespace snoopie

using namespace snoopie;

extern "C" int cuptiSubscribe(void** subscriber, void* callback, void* data) {
    Subscribe* const real = hidden_function(&cuptiSubscribe, kSubscribe, __builtin_return_address(0), kFails);
    return real ? answered(real(subscriber, callback, data)) : kUnknownError;
}

extern "C" int cuptiSubscribe_v2(void** subscriber, void* callback, void* data, void* parameters) {
    SubscribeV2* const real = hidden_function(&cuptiSubscribe_v2, kSubscribeV2, __builtin_return_address(0), kFails);
    return real ? answered(real(subscriber, callback, data, parameters)) : kUnknownError;
}

namespace snoopie {

Instead* instead_of_cupti(const char* name) {
    if (std::strcmp(name, kSubscribe) == 0)
        return [](void* found) { return instead(kSubscribe, &looked_up, found, &subscribe_looked_up, &cuptiSubscribe); };
    if (std::strcmp(name, kSubscribeV2) == 0)
        return [](void* found) { return instead(kSubscribeV2, &looked_up_v2, found, &subscribe_v2_looked_up, &cuptiSubscribe_v2); };
    return nullptr;
}

}  // namespace snoopie
