#include "times/cupti.h"

#include <dlfcn.h>
#include <glob.h>
#include <unistd.h>

#include <cstdlib>
#include <initializer_list>
#include <vector>

namespace snoopie::cupti {

namespace {

// The first CUPTI with the records that are read here.
constexpr int kOldestMajor = 12;

std::vector<std::string> names(int major) {
    std::vector<std::string> names;
    for (; major >= kOldestMajor; --major) names.push_back("libcupti.so." + std::to_string(major));
    return names;
}

// Of the variables that are set.
std::vector<std::string> values_of(std::initializer_list<const char*> variables) {
    std::vector<std::string> values;
    for (const char* variable : variables)
        if (const char* value = std::getenv(variable); value && *value) values.push_back(value);
    return values;
}

std::vector<std::string> toolkit_files(const std::vector<std::string>& homes, const std::string& name) {
    std::vector<std::string> files;
    for (const std::string& home : homes)
        for (const char* folder : {"/extras/CUPTI/lib64/", "/lib64/", "/lib/"}) files.push_back(home + folder + name);
    return files;
}

// The folder above the program's bin: of Python, the environment that it runs in, to which its file may only be a link.
std::string prefix_of(const std::string& program) {
    std::string path = program;
    if (path.find('/') == std::string::npos) {
        const char* search = std::getenv("PATH");
        std::string rest = search ? search : "";
        path.clear();
        while (!rest.empty() && path.empty()) {
            const size_t colon = rest.find(':');
            const std::string candidate = rest.substr(0, colon) + "/" + program;
            if (access(candidate.c_str(), X_OK) == 0) path = candidate;
            rest = colon == std::string::npos ? "" : rest.substr(colon + 1);
        }
    }
    for (int up = 0; up < 2; ++up) {
        const size_t slash = path.rfind('/');
        path = slash == std::string::npos ? (up ? ".." : ".") : path.substr(0, slash);
    }
    return path;
}

std::vector<std::string> package_files(const std::string& program, const std::string& name) {
    std::vector<std::string> prefixes = values_of({"VIRTUAL_ENV", "CONDA_PREFIX"});
    if (!program.empty()) prefixes.push_back(prefix_of(program));
    std::vector<std::string> files;
    for (const std::string& prefix : prefixes) {
        const std::string pattern = prefix + "/lib/python3*/*-packages/nvidia/*/lib/" + name;
        glob_t found{};
        if (glob(pattern.c_str(), 0, nullptr, &found) == 0)
            for (size_t i = 0; i < found.gl_pathc; ++i) files.push_back(found.gl_pathv[i]);
        globfree(&found);
    }
    return files;
}

void* open_any(const std::string& program, int major) {
    const int how = RTLD_LAZY | RTLD_LOCAL;
    for (const std::string& name : names(major))
        if (void* library = dlopen(name.c_str(), how | RTLD_NOLOAD)) return library;
    for (const std::string& name : names(major)) {
        std::vector<std::string> files = toolkit_files(values_of({"CUDA_HOME", "CUDA_PATH"}), name);
        files.push_back(name);
        for (auto& more : {toolkit_files({"/usr/local/cuda"}, name), package_files(program, name)})
            files.insert(files.end(), more.begin(), more.end());
        for (const std::string& file : files)
            if (void* library = dlopen(file.c_str(), how)) return library;
    }
    return nullptr;
}

template <class Function>
bool look_up(void* library, const char* name, Function* function) {
    *function = reinterpret_cast<Function>(dlsym(library, name));
    return *function != nullptr;
}

}  // namespace

std::string Library::text(Result result) const {
    const char* text = nullptr;
    return result_text(result, &text) == 0 && text ? text : "error " + std::to_string(result);
}

std::optional<Library> load(const std::string& program, int major, std::string* why) {
    void* const library = open_any(program, major);
    if (!library) {
        *why = "CUPTI, libcupti.so." + std::to_string(major) +
               ", is neither in the CUDA toolkit (CUDA_HOME, /usr/local/cuda) nor in LD_LIBRARY_PATH nor in the program's Python "
               "environment: install the toolkit, or pip install nvidia-cuda-cupti";
        return std::nullopt;
    }
    Library found;
    const bool usable =
        look_up(library, "cuptiActivityRegisterCallbacks", &found.register_callbacks) &&
        look_up(library, "cuptiActivityEnable", &found.enable) && look_up(library, "cuptiActivityGetNextRecord", &found.next_record) &&
        look_up(library, "cuptiActivityGetNumDroppedRecords", &found.dropped_records) &&
        look_up(library, "cuptiActivityFlushAll", &found.flush_all) && look_up(library, "cuptiGetResultString", &found.result_text);
    Dl_info info{};
    if (dladdr(reinterpret_cast<void*>(found.enable), &info) && info.dli_fname) found.path = info.dli_fname;
    if (!usable) {
        *why = found.path + " is no CUPTI that can be used: install another, or pip install nvidia-cuda-cupti";
        return std::nullopt;
    }
    look_up(library, "cuptiSubscribe", &found.subscribe);
    look_up(library, "cuptiEnableCallback", &found.enable_callback);
    look_up(library, "cuptiSetThreadIdType", &found.set_thread_id_type);
    look_up(library, "cuptiActivityEnableDriverApi", &found.enable_driver_call);
    look_up(library, "cuptiActivitySetAttribute", &found.set_attribute);
    return found;
}

}  // namespace snoopie::cupti
