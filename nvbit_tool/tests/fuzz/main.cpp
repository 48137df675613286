// The same targets without libFuzzer, where only g++ is:
//
//   parsers TARGET [--seed N] [--first N] [--inputs N | --seconds N] [--keep FOLDER] CORPUS…
//   parsers --list
//
// First each file of the corpus as it is, then changed ones: the same for the same seed and number. What a sanitizer stops, or what does
// not end, is written to a file, which alone shows the fault again: parsers TARGET --inputs 0 FILE
#include <dirent.h>
#include <sanitizer/common_interface_defs.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <random>
#include <sstream>

#include "target.h"

namespace {

constexpr unsigned kMostSeconds = 20;  // of one input
constexpr size_t kMostBytes = 1 << 16;

struct Input {
    std::string bytes;
    std::string name;  // of its file, or its number
};

// What is being looked at, for whoever finds out that it is a fault.
Input current;
std::string keep_folder = "build/fuzz";
std::string target_name;

void keep_current() {
    std::string path = keep_folder + "/" + target_name + "-" + current.name;
    std::ofstream(path, std::ios::binary) << current.bytes;
    std::fprintf(stderr, "\n%s: input %s is kept: %s\n", target_name.c_str(), current.name.c_str(), path.c_str());
}

[[noreturn]] void on_signal(int number) {
    std::fprintf(stderr, "%s\n", number == SIGALRM ? "an input does not end" : "an input ends the program");
    keep_current();
    std::_Exit(1);
}

std::string read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::stringstream bytes;
    bytes << file.rdbuf();
    return bytes.str();
}

void add_corpus(const std::string& path, std::vector<Input>* corpus) {
    struct stat info;
    if (stat(path.c_str(), &info) != 0) {
        std::fprintf(stderr, "there is no %s\n", path.c_str());
        std::exit(2);
    }
    if (!S_ISDIR(info.st_mode)) return corpus->push_back({read(path), path.substr(path.rfind('/') + 1)});
    std::vector<std::string> names;
    DIR* folder = opendir(path.c_str());
    while (const dirent* entry = folder ? readdir(folder) : nullptr)
        if (entry->d_name[0] != '.') names.push_back(entry->d_name);
    if (folder) closedir(folder);
    std::sort(names.begin(), names.end());  // the same inputs on every machine
    for (const std::string& name : names) add_corpus(path + "/" + name, corpus);
}

class Mutator {
  public:
    Mutator(const std::vector<Input>& corpus, uint64_t seed, uint64_t number)
        : corpus_(corpus), random_(seed * 0x9E3779B97F4A7C15u + number) {}

    std::string input() {
        std::string bytes = any().bytes;
        const size_t changes = size_t{1} << below(5);
        for (size_t i = 0; i < changes; ++i) change(&bytes);
        if (bytes.size() > kMostBytes) bytes.resize(kMostBytes);
        return bytes;
    }

  private:
    size_t below(size_t limit) { return limit ? random_() % limit : 0; }
    const Input& any() { return corpus_[below(corpus_.size())]; }

    void change(std::string* bytes) {
        const size_t at = below(bytes->size() + 1);
        const size_t length = std::min(bytes->size() - at, size_t{1} << below(7));
        switch (below(9)) {
            case 0:
                if (length) (*bytes)[at] = static_cast<char>((*bytes)[at] ^ 1 << below(8));
                break;
            case 1:
                bytes->erase(at, length);
                break;
            case 2:
                bytes->insert(at, bytes->substr(below(bytes->size() + 1), length));
                break;
            case 3:
                number(bytes, at);
                break;
            case 4:
                for (size_t i = at; i < at + length; ++i) (*bytes)[i] = static_cast<char>(below(256));
                break;
            case 5: {
                const std::string& other = any().bytes;
                const size_t from = below(other.size() + 1);
                bytes->replace(at, length, other, from, size_t{1} << below(9));
                break;
            }
            case 6:
                for (size_t again = size_t{1} << below(6), i = 0; i < again && bytes->size() < kMostBytes; ++i)
                    bytes->insert(at, bytes->substr(at, length));
                break;
            case 7:
                bytes->insert(at, 1, " \n\t\0,;:.()[]<>{}\"'@!-+*?\\%/#=0x9A~\xff"[below(36)]);
                break;
            default:
                if (below(8) == 0) bytes->resize(at);
        }
    }

    // One that often is a limit, as bytes or as digits.
    void number(std::string* bytes, size_t at) {
        constexpr uint64_t kNumbers[] = {0,          1,
                                         2,          8,
                                         16,         0x7f,
                                         0x80,       0xff,
                                         0x100,      0x7fff,
                                         0xffff,     0x7fffffff,
                                         0x80000000, 0xffffffff,
                                         1u << 20,   ~uint64_t{0},
                                         0xC0DE,     uint64_t{1} << 63,
                                         0x7E87,     uint64_t{1} << 40,
                                         0x1000,     4096 * 3,
                                         64,         ~uint64_t{15}};
        const uint64_t value = kNumbers[below(std::size(kNumbers))] + (below(4) ? 0 : below(64));
        if (below(4) == 0) {
            bytes->insert(at, std::to_string(value));
            return;
        }
        const size_t size = std::min(bytes->size() - at, size_t{1} << below(4));
        std::memcpy(bytes->data() + at, &value, size);
    }

    const std::vector<Input>& corpus_;
    std::mt19937_64 random_;
};

void run(const fuzz::Target& target, Input input) {
    current = std::move(input);
    alarm(kMostSeconds);
    // Of exactly its size, so that a byte too far is seen.
    const std::vector<char> bytes(current.bytes.begin(), current.bytes.end());
    target.run({bytes.data(), bytes.size()});
}

}  // namespace

int main(int argc, char** argv) {
    if (argc > 1 && std::string(argv[1]) == "--list") {
        for (const fuzz::Target& target : fuzz::targets()) std::printf("%s\n", target.name);
        return 0;
    }
    const fuzz::Target* target = argc > 1 ? fuzz::find_target(argv[1]) : nullptr;
    if (!target) {
        std::fprintf(stderr, "parsers TARGET [--seed N] [--first N] [--inputs N | --seconds N] [--keep FOLDER] CORPUS…; parsers --list\n");
        return 2;
    }
    uint64_t seed = 1, first = 0, inputs = UINT64_MAX, seconds = UINT64_MAX;
    std::vector<Input> corpus;
    for (int i = 2; i < argc; ++i) {
        const std::string word = argv[i];
        const auto value = [&] { return ++i < argc ? argv[i] : ""; };
        const auto natural = [&] { return std::strtoull(value(), nullptr, 10); };
        if (word == "--seed")
            seed = natural();
        else if (word == "--first")
            first = natural();
        else if (word == "--inputs")
            inputs = natural();
        else if (word == "--seconds")
            seconds = natural();
        else if (word == "--keep")
            keep_folder = value();
        else
            add_corpus(word, &corpus);
    }
    target_name = target->name;
    __sanitizer_set_death_callback(keep_current);
    std::signal(SIGALRM, on_signal);
    std::signal(SIGABRT, on_signal);

    const auto begun = std::chrono::steady_clock::now();
    const auto took = [&] {
        return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - begun).count());
    };
    for (const Input& input : corpus) run(*target, input);
    if (corpus.empty()) corpus.push_back({});
    uint64_t number = first;
    for (; number - first < inputs && took() < seconds; ++number)
        run(*target, {Mutator(corpus, seed, number).input(), std::to_string(seed) + "-" + std::to_string(number)});
    alarm(0);
    std::printf("%s: %zu files, %llu inputs, %llu s\n", target->name, corpus.size(), static_cast<unsigned long long>(number - first),
                static_cast<unsigned long long>(took()));
    return 0;
}
