// Settings from the environment: options, kernel filter, output path, the run's id.
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <map>

#include "base/byte_size.h"
#include "check.h"
#include "code/disassembler.h"
#include "probe/probe_logic.h"
#include "settings/kernel_filter.h"
#include "settings/options.h"
#include "settings/output_path.h"

using namespace snoopie;

namespace {

std::variant<Options, OptionError> read(const std::map<std::string, std::string>& values) {
    return read_options([&](const char* name) -> const char* {
        const auto found = values.find(name);
        return found == values.end() ? nullptr : found->second.c_str();
    });
}

Options good(const std::map<std::string, std::string>& values) {
    const auto options = read(values);
    CHECK(std::holds_alternative<Options>(options));
    return std::holds_alternative<Options>(options) ? std::get<Options>(options) : Options{};
}

std::string bad(const std::map<std::string, std::string>& values) {
    const auto options = read(values);
    CHECK(std::holds_alternative<OptionError>(options));
    const std::string sentence = std::holds_alternative<OptionError>(options) ? std::get<OptionError>(options).sentence : "";
    CHECK(sentence.find('\n') == std::string::npos);
    return sentence;
}

void options() {
    CHECK_EQ(good({}).kernels_text(), "all");
    CHECK_EQ(good({}).sample_size, 1u);
    CHECK(good({}).code_attribution);
    CHECK_EQ(good({{"KERNEL_NAME", "all"}}).kernels.size(), 0u);
    CHECK_EQ(good({{"KERNEL_NAME", ""}}).kernels.size(), 0u);
    CHECK_EQ(good({{"KERNEL_NAME", "put, get"}}).kernels_text(), "put,get");
    CHECK_EQ(good({{"KERNEL_NAME", "put,all"}}).kernels_text(), "all");
    CHECK_EQ(good({{"KERNEL_NAME", "k<int, 3>,f(a, b)"}}).kernels.size(), 2u);
    CHECK_EQ(good({{"SAMPLE_SIZE", "100"}}).sample_size, 100u);
    CHECK_EQ(good({{"SAMPLE_SIZE", "0"}}).sample_size, 0u);
    CHECK_EQ(good({}).launch_sample, 1u);
    CHECK_EQ(good({{"LAUNCH_SAMPLE", "10"}}).launch_sample, 10u);
    CHECK_EQ(good({{"LAUNCH_SAMPLE", "4294967295"}}).launch_sample, 4294967295u);
    CHECK_EQ(good({}).packing, kMostPacked);
    CHECK_EQ(good({{"PACKING", "1"}}).packing, 1u);
    CHECK_EQ(good({{"PACKING", "7"}}).packing, 7u);
    CHECK(!good({{"CODE_ATTRIBUTION", "0"}}).code_attribution);
    CHECK_EQ(good({{"SNOOPIE_OUTPUT", "/tmp/%h-%p.zst"}}).output, "/tmp/%h-%p.zst");

    CHECK(good({}).host_memory && !good({{"HOST_MEMORY", "0"}}).host_memory);
    CHECK(good({}).code_context && !good({{"CODE_CONTEXT", "0"}}).code_context);
    CHECK(good({}).source && !good({{"SOURCE", "0"}}).source);
    CHECK(good({}).object_attribution && !good({{"DATA_OBJECT_ATTRIBUTION", "0"}}).object_attribution);
    CHECK_EQ(good({{"PATIENCE", "5"}}).patience, 5u);
    CHECK(!good({}).exit_on_stall && good({{"STALL", "exit"}}).exit_on_stall);
    CHECK(good({}).disassembly_cache);
    CHECK(good({{"DISASSEMBLY_CACHE", "1"}}).disassembly_cache);
    CHECK(!good({{"DISASSEMBLY_CACHE", "0"}}).disassembly_cache);
    good({{"SNOOPIE_CACHE_SIZE", "512M"}});
    CHECK(good({}).calls == Calls::summary && good({{"CALLS", " summary\n"}}).calls == Calls::summary);
    CHECK(good({{"CALLS", "all"}}).calls == Calls::all && good({{"CALLS", "off"}}).calls == Calls::off);

    CHECK(!good({{"STALL", "report"}}).exit_on_stall);

    const std::string most = std::to_string(UINT32_MAX);
    CHECK_EQ(bad({{"SAMPLE_SIZE", "x"}}), "SAMPLE_SIZE=x: use a whole number from 0 to " + most);
    for (const char* value : {"-1", "1.5", "10k", "4294967296", "0x10", "1 2"}) bad({{"SAMPLE_SIZE", value}});
    for (const char* value : {"0", "-1", "1.5", "10k", "4294967296", "all"})
        CHECK_EQ(bad({{"LAUNCH_SAMPLE", value}}), std::string("LAUNCH_SAMPLE=") + value + ": use a whole number from 1 to " + most);
    for (const std::string& value : {std::string("0"), std::to_string(kMostPacked + 1), std::string("-1"), std::string("2x")})
        CHECK_EQ(bad({{"PACKING", value}}), "PACKING=" + value + ": use a whole number from 1 to " + std::to_string(kMostPacked));
    for (const char* value : {"-1", "soon"})
        CHECK_EQ(bad({{"PATIENCE", value}}), std::string("PATIENCE=") + value + ": use a whole number from 0 to " + most);
    for (const char* name : {"CODE_ATTRIBUTION", "DISASSEMBLY_CACHE", "CODE_CONTEXT", "DATA_OBJECT_ATTRIBUTION", "HOST_MEMORY"})
        for (const char* value : {"yes", "2", "01", "0|1", "|"})
            CHECK_EQ(bad({{name, value}}), std::string(name) + "=" + value + ": use 0 or 1");
    for (const char* value : {"1", "All", "summary,all"})
        CHECK_EQ(bad({{"CALLS", value}}), std::string("CALLS=") + value + ": use off, summary or all");
    CHECK_EQ(bad({{"STALL", "kill"}}), "STALL=kill: use report or exit");
    CHECK(bad({{"SNOOPIE_CACHE_SIZE", "1GB"}}).find("SNOOPIE_CACHE_SIZE=1GB: use a number of bytes") == 0);
    for (const char* value : {"put,,get", ",", "put,", "[", "a]"})
        CHECK(bad({{"KERNEL_NAME", value}}).find(std::string("KERNEL_NAME=") + value + ": use all, or names separated by commas") == 0);
    for (const char* value : {"%x", "a%", "%"}) CHECK(bad({{"SNOOPIE_OUTPUT", value}}).find("%h") != std::string::npos);
    // Nothing of a refused value is used for another one's sake.
    CHECK_EQ(bad({{"SAMPLE_SIZE", "5"}, {"STALL", "x"}}), "STALL=x: use report or exit");
}

// A default is what the table says, can be written out, and is the same as saying nothing. `snoopie run` refuses what `pattern` does not
// match before the collector sees it.
void table() {
    for (const auto& [variable, option, recorded, meaning, rule] : kSettings) {
        const std::string written = rule.show(rule, Options{});
        CHECK_EQ(rule.show(rule, good({{variable, written}})), written);
        CHECK(*meaning && !rule.allowed().empty());
        for (const Setting& other : kSettings) CHECK(other.variable == variable || std::string(other.variable) != variable);
    }
}

void words() {
    CHECK_EQ(word_at("off|summary|all", 0) + word_at("off|summary|all", 1) + word_at("off|summary|all", 2), "offsummaryall");
    CHECK_EQ(find_word("off|summary|all", "all").value(), 2u);
    for (const char* word : {"", "a", "off|summary", "|"}) CHECK(!find_word("off|summary|all", word));
}

bool selected(const BlockFilter& filter, uint32_t x, uint32_t y = 0, uint32_t z = 0, uint64_t linear = 0) {
    return filter.shape == BlockFilter::kAll || block_selected(filter, x, y, z, linear);
}

void blocks() {
    CHECK(good({}).blocks.shape == BlockFilter::kAll);
    CHECK(good({{"BLOCKS", "all"}}).blocks.shape == BlockFilter::kAll);
    const BlockFilter linear = good({{"BLOCKS", "0-7,12"}}).blocks;
    for (uint64_t block = 0; block < 20; ++block) CHECK(selected(linear, 99, 99, 99, block) == (block <= 7 || block == 12));
    const BlockFilter axes = good({{"BLOCKS", "x:0-3,6;z:1"}}).blocks;
    for (uint32_t x = 0; x < 8; ++x)
        for (uint32_t y = 0; y < 3; ++y)
            for (uint32_t z = 0; z < 3; ++z) CHECK(selected(axes, x, y, z, 1000) == ((x <= 3 || x == 6) && z == 1));
    CHECK(selected(good({{"BLOCKS", "4294967296-9999999999"}}).blocks, 0, 0, 0, 5000000000));
    std::string many = "0";
    for (int i = 1; i < 33; ++i) many += "," + std::to_string(2 * i);
    for (const std::string& value : {std::string("7-0"), std::string("1,"), std::string(",1"), std::string("a"), std::string("1-"),
                                     std::string("x:"), std::string("w:1"), std::string("x:1;x:2"), std::string("x:1;"), std::string("1;2"),
                                     std::string("0x10"), std::string("-1"), std::string("99999999999999999999"), many})
        CHECK(bad({{"BLOCKS", value}}).find("BLOCKS=" + value) == 0);
}

void byte_sizes() {
    CHECK_EQ(parse_byte_size("0").value(), 0u);
    CHECK_EQ(parse_byte_size("500").value(), 500u);
    CHECK_EQ(parse_byte_size("64K").value(), 65536u);
    CHECK_EQ(parse_byte_size("2G").value(), uint64_t{2} << 30);
    CHECK_EQ(parse_byte_size("16777215T").value(), uint64_t{16777215} << 40);
    for (const char* text : {"", "K", "1k", "1GB", "-1", "1.5G", " 1", "1 G", "16777216T", "99999999999999999999"})
        CHECK(!parse_byte_size(text));
    CHECK(!parse_byte_size(std::string("1\0", 2)));
}

void disassembler() {
    CHECK_EQ(shell_word("/opt/snoopie-1.0/disassemble"), "/opt/snoopie-1.0/disassemble");
    CHECK_EQ(shell_word("/my tools/d"), "'/my tools/d'");
    CHECK_EQ(shell_word("/it's/d"), "'/it'\\''s/d'");
    CHECK_EQ(shell_word("/a;b$c"), "'/a;b$c'");
}

bool selects(const std::string& setting, const std::string& demangled, const std::string& mangled = "_Z1k") {
    std::vector<std::string> patterns;
    CHECK(KernelFilter::parse(setting, &patterns));
    return KernelFilter(patterns).selects(demangled, mangled);
}

void kernel_filter() {
    CHECK(selects("all", "put(float*)"));
    CHECK(selects("nccl", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"));
    CHECK(selects("put,nccl", "ncclSymkDevKernel_AllGather_LL(ncclSymkDevWorkArgs4K)"));
    CHECK(!selects("nccl", "put(float*)"));
    CHECK(selects("nvshmem", "void nvshmemi_init_array_kernel<long>(long*, int, long)"));
    CHECK(selects("nvshmem", "void barrier_on_stream_kernel_threadgroup<(threadgroup_t)3>(int, int, int, int)"));
    CHECK(selects("put", "put(float*)"));
    CHECK(selects("put(float*)", "put(float*)"));
    CHECK(!selects("put", "put2(float*)"));
    CHECK(!selects("put", "input(float*)"));
    CHECK(selects("put*", "put2(float*)"));
    CHECK(selects("p?t", "put(float*)"));
    CHECK(selects("[pg][ue]t", "get(float*)"));
    CHECK(selects("get,put", "put(float*)"));
    CHECK(selects("_Z3put*", "put(float*)", "_Z3putPf"));

    const std::string name = "void lib::inner::scale<float, (int)4>(float*, int)";
    for (const char* setting :
         {"scale", "lib::inner::scale", "scale<float, (int)4>", "lib::inner::scale<float, (int)4>",
          "void lib::inner::scale<float, (int)4>(float*, int)", "lib::inner::scale<float, (int)4>(float*, int)", "lib::*", "scale<float*"})
        CHECK(selects(setting, name));
    for (const char* setting : {"inner", "scale<double*", "lib", "float"}) CHECK(!selects(setting, name));

    CHECK(selects("kernel", "(anonymous namespace)::kernel(int)"));
    CHECK(selects("step", "void Solver<double>::step<3>(double*)"));
    CHECK(selects("Solver<double>::step", "void Solver<double>::step<3>(double*)"));
    CHECK(selects("ncclDevKernel_AllReduce*", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"));
}

std::string path_of(const std::string& pattern) { return output_file(pattern, {"node 1", "4711", "my/app"}, "/home/u").path; }
bool of_process(const std::string& pattern) { return output_file(pattern, {"node 1", "4711", "my/app"}, "/home/u").of_process; }

void output() {
    CHECK_EQ(path_of(""), "/home/u/snoopie-my_app.4711.zst");
    CHECK_EQ(path_of("t.zst"), "/home/u/t.zst");
    CHECK_EQ(path_of("/x/%h.%p.%n.%%.zst"), "/x/node_1.4711.my_app.%.zst");
    CHECK_EQ(path_of("/nowhere/"), "/nowhere/snoopie-my_app.4711.zst");
    CHECK_EQ(path_of("/"), "/snoopie-my_app.4711.zst");
    CHECK(of_process("") && of_process("/") && of_process("%p.zst"));
    CHECK(!of_process("t.zst") && !of_process("%n.zst"));

    char folder[] = "/tmp/snoopie-test-XXXXXX";
    CHECK(mkdtemp(folder) != nullptr);
    CHECK_EQ(path_of(folder), std::string(folder) + "/snoopie-my_app.4711.zst");

    // A name that the user chose is never given to a second file; one made from the process's number gets a number more.
    std::string why;
    for (const char* name : {"/t.zst", "/.hidden", "/plain"}) {
        const OutputFile chosen{std::string(folder) + name, false};
        OutputFile first = chosen;
        const int fd = create_output(&first, &why);
        CHECK(fd >= 0);
        close(fd);
        CHECK_EQ(first.path, chosen.path);
        OutputFile again = chosen;
        CHECK_EQ(create_output(&again, &why), -1);
        CHECK(why.find("exists") != std::string::npos);
        again.of_process = true;
        close(create_output(&again, &why));
        OutputFile third{chosen.path, true};
        close(create_output(&third, &why));
        const std::string stem = std::string(folder) + (name == std::string("/t.zst") ? "/t" : name);
        const std::string ending = name == std::string("/t.zst") ? ".zst" : "";
        CHECK_EQ(again.path, stem + "-2" + ending);
        CHECK_EQ(third.path, stem + "-3" + ending);
        for (const std::string& path : {first.path, again.path, third.path}) unlink(path.c_str());
    }
    OutputFile absent{"/nowhere/t.zst", true};
    CHECK_EQ(create_output(&absent, &why), -1);
    CHECK(why.find("/nowhere/t.zst") != std::string::npos);
    rmdir(folder);
}

RunId run_of(const std::map<std::string, std::string>& values, const std::string& named = "") {
    return find_run(
        named,
        [&](const char* name) {
            const auto found = values.find(name);
            return found == values.end() ? nullptr : found->second.c_str();
        },
        "node 1-4711-5");
}

void runs() {
    const auto id = [](const std::map<std::string, std::string>& values) { return run_of(values).id; };
    CHECK_EQ(id({}), "node_1-4711-5");
    CHECK(run_of({}).of == IdOf::process);
    CHECK_EQ(run_of({{"SLURM_JOB_ID", "12"}, {"SLURM_STEP_ID", "3"}}, "mine").id, "mine");
    CHECK(run_of({}, "mine").of == IdOf::run);

    CHECK_EQ(id({{"SLURM_JOB_ID", "12"}, {"SLURM_STEP_ID", "0"}}), "slurm-12.0");
    CHECK(run_of({{"SLURM_JOB_ID", "12"}, {"SLURM_STEP_ID", "0"}}).of == IdOf::run);
    // A job's script and its shell start many runs.
    for (const char* step : {"4294967290", "4294967291", ""})
        CHECK_EQ(id({{"SLURM_JOB_ID", "12"}, {"SLURM_STEP_ID", step}}), "node_1-4711-5");
    CHECK_EQ(id({{"SLURM_JOB_ID", "12"}}), "node_1-4711-5");
    CHECK_EQ(id({{"SLURM_STEP_ID", "0"}}), "node_1-4711-5");

    CHECK_EQ(id({{"OMPI_MCA_ess_base_jobid", "3735879681"}, {"PMIX_NAMESPACE", "3735879681"}}), "openmpi-3735879681");
    CHECK(run_of({{"OMPI_MCA_ess_base_jobid", "1"}}).of == IdOf::job);
    CHECK_EQ(id({{"PMIX_NAMESPACE", "prterun-node1-77@1"}, {"SLURM_JOB_ID", "12"}, {"SLURM_STEP_ID", "0"}}), "pmix-prterun-node1-77@1");
    CHECK_EQ(id({{"PMI_JOBID", "12.0"}}), "pmi-12.0");
    CHECK_EQ(id({{"PALS_APID", "6a-7b"}}), "pals-6a-7b");
    CHECK_EQ(id({{"TORCHELASTIC_RUN_ID", "none"}}), "torchrun-none");
    CHECK(run_of({{"TORCHELASTIC_RUN_ID", "none"}}).of == IdOf::job);
    CHECK_EQ(id({{"TORCHELASTIC_RUN_ID", "a b/\n"}}), "torchrun-a_b__");
    CHECK(is_run_id(id({{"TORCHELASTIC_RUN_ID", std::string(1000, 'x')}})));

    CHECK_EQ(good({{"SNOOPIE_RUN", " 20261122-224003-3fa9 "}}).run, "20261122-224003-3fa9");
    CHECK_EQ(bad({{"SNOOPIE_RUN", "a b"}}), "SNOOPIE_RUN=a b: use up to 100 letters, digits and ._@:+-");
    bad({{"SNOOPIE_RUN", std::string(101, 'x')}});
}

}  // namespace

int main() {
    options();
    table();
    words();
    blocks();
    byte_sizes();
    disassembler();
    kernel_filter();
    output();
    runs();
    return test::summary("settings");
}
