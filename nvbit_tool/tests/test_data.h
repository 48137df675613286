// Files of tests/data.
#pragma once

#include <fstream>
#include <sstream>
#include <string>

namespace test {

inline std::string read(const std::string& name) {
    std::ifstream file(std::string(TEST_DATA "/") + name, std::ios::binary);
    std::stringstream bytes;
    bytes << file.rdbuf();
    return bytes.str();
}

}  // namespace test
