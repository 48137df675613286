// What the program has printed and not flushed yet, while the collector is opened.
#pragma once

#include <cstdio>

namespace snoopie {

// NVBit begins with a banner. So that nobody sees it, it has /dev/null in place of stdout's descriptor until it has printed and flushed:
// what the program's stdout holds would go there, too, and so would what other threads print meanwhile. These wait while one of these
// lives.
class PrintedText {
  public:
    PrintedText() {
        flockfile(stdout);
        fflush(stdout);
    }
    ~PrintedText() { funlockfile(stdout); }
    PrintedText(const PrintedText&) = delete;
    PrintedText& operator=(const PrintedText&) = delete;
};

}  // namespace snoopie
