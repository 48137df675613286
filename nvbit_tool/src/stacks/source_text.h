// What a source file has at a line, for a reader who does not have the file.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace snoopie {

class SourceText {
  public:
    static constexpr size_t kMostCharacters = 200;  // bytes of UTF-8
    static constexpr size_t kMostLines = 4;

    // The statement that begins at a line, counted from 1: without indentation, with the lines up to its end joined to it where it has
    // several. "" if the file cannot be read.
    std::string statement(const std::string& file, uint32_t line);
    // The same of a file that a module's debug information names: a relative path is one from the folder where it was compiled, which may
    // be this process's, the module's, or one around that.
    std::string statement(const std::string& file, uint32_t line, const std::string& module);

  private:
    struct File {
        std::string text;
        std::vector<size_t> starts;  // of lines
    };
    const File& file(const std::string& path);

    std::map<std::string, File> files_;
    size_t bytes_ = 0;
};

}  // namespace snoopie
