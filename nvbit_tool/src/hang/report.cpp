#include "hang/report.h"

#include <cmath>

#include "base/hex.h"
#include "trace/json.h"

namespace snoopie {

namespace {

constexpr size_t kMostStores = 3;  // that a sentence names

std::string memory_of(int owner) {
    if (owner == kHostMemory) return "the host";
    return owner < 0 ? "an unknown owner" : "GPU " + std::to_string(owner);
}

std::string seconds(double time) { return std::to_string(std::llround(time)) + " s"; }

void write(JsonWriter& json, const HangStore& store) {
    json.begin_object().member("place", store.place).member("gpu", store.gpu).member("owner", store.owner);
    json.member("accesses", store.accesses).end_object();
}

void write(JsonWriter& json, const HangCollective& call) {
    json.begin_object().member("operation", call.operation).member("type", call.type).member("count", call.count);
    json.member("communicator", hex_number(call.communicator)).member("sequence", call.sequence);
    json.member("rank", call.rank).member("ranks", call.ranks).member("peer", call.peer).end_object();
}

void write(JsonWriter& json, const HangWait& wait);
void write(JsonWriter& json, const HangKernel& kernel);

template <class List>
void write_list(JsonWriter& json, const char* name, const List& list) {
    json.key(name).begin_array();
    for (const auto& one : list) write(json, one);
    json.end_array();
}

// JSON has fractions, and the writer has none: milliseconds are whole.
uint64_t milliseconds(double time) { return time > 0 ? static_cast<uint64_t>(std::llround(time * 1000)) : 0; }

void write(JsonWriter& json, const HangWait& wait) {
    json.begin_object().member("place", wait.place).member("instruction", wait.instruction);
    json.member("warps", wait.warps).member("blocks", wait.blocks).member("first_block", wait.first_block);
    json.member("milliseconds", milliseconds(wait.seconds)).member("address", hex_number(wait.address)).member("owner", wait.owner);
    json.member("object", wait.object).member("object_bytes", wait.object_bytes).member("offset", wait.offset);
    write_list(json, "stores", wait.stores);
    json.end_object();
}

void write(JsonWriter& json, const HangKernel& kernel) {
    json.begin_object().member("launch", kernel.launch).member("kernel", kernel.name).member("gpu", kernel.gpu);
    json.member("milliseconds", milliseconds(kernel.seconds));
    write_list(json, "collectives", kernel.collectives);
    write_list(json, "waits", kernel.waits);
    json.end_object();
}

std::string what_is_polled(const HangWait& wait) {
    if (wait.address == 0) return "memory of " + memory_of(wait.owner);
    std::string text = hex_number(wait.address) + " of " + memory_of(wait.owner);
    if (wait.object)
        text += " (allocation " + std::to_string(wait.object) + ", " + std::to_string(wait.object_bytes) + " bytes, at offset " +
                std::to_string(wait.offset) + ")";
    return text;
}

std::string who_stored(const HangWait& wait) {
    if (wait.stores.empty()) return "no store to it is known so far";
    std::string text = "stored there so far: ";
    for (size_t i = 0; i < wait.stores.size() && i < kMostStores; ++i)
        text += (i ? ", " : "") + wait.stores[i].place + " on GPU " + std::to_string(wait.stores[i].gpu);
    return text + (wait.stores.size() > kMostStores ? ", …" : "");
}

std::string call_of(const HangCollective& call) {
    return call.operation + " of " + std::to_string(call.count) + " " + call.type + ", call " + std::to_string(call.sequence) +
           " of rank " + std::to_string(call.rank) + " of " + std::to_string(call.ranks) + " on communicator " +
           hex_number(call.communicator);
}

}  // namespace

std::string json_of(const HangReport& report) {
    JsonWriter json;
    json.begin_object().member("report", kHangReportVersion).member("pid", report.pid).member("host", report.host);
    json.member("program", report.program).member("trace", report.trace);
    json.key("ranks").begin_object();
    for (const auto& [name, value] : report.ranks) json.member(name, value);
    json.end_object();
    json.member("waits_recorded", report.waits_recorded).member("answered", report.answered);
    json.key("gpus").begin_array();
    for (const std::string& uuid : report.gpus) json.value(uuid);
    json.end_array();
    json.member("last_kernel", report.last_kernel).member("last_milliseconds", milliseconds(report.last_seconds));
    write_list(json, "kernels", report.kernels);
    write_list(json, "calls", report.calls);
    write_list(json, "stores", report.stores);
    return json.end_object().text();
}

std::vector<std::string> sentences_of(const HangReport& report) {
    std::vector<std::string> sentences;
    for (const HangKernel& kernel : report.kernels) {
        std::string text =
            "kernel " + kernel.name + " on GPU " + std::to_string(kernel.gpu) + " has been under way for " + seconds(kernel.seconds);
        for (const HangCollective& call : kernel.collectives) text += "; it carries out " + call_of(call);
        sentences.push_back(text);
        for (const HangWait& wait : kernel.waits)
            sentences.push_back("  " + std::to_string(wait.warps) + (wait.warps == 1 ? " warp waits" : " warps wait") + " at " +
                                wait.place + ", the longest for " + seconds(wait.seconds) + ", for " + what_is_polled(wait) + "; " +
                                who_stored(wait));
    }
    return sentences;
}

}  // namespace snoopie
