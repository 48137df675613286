// Handles that processes tell each other about.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "base/signals.h"
#include "check.h"
#include "memory/exports.h"

using namespace snoopie;

namespace {

std::string new_folder() {
    char path[] = "/tmp/snoopie-exports-XXXXXX";
    CHECK(mkdtemp(path));
    return std::string(path) + "/shared";
}

const std::string kHandle(64, '\x01');
const std::string kOther = std::string(63, '\x01') + '\n';

void told_and_found() {
    const std::string folder = new_folder();
    Exports exporter(folder);
    Exports importer(folder);
    CHECK(!importer.find(kHandle));
    CHECK(exporter.publish(kHandle, "GPU-a"));
    CHECK(exporter.publish(kOther, "GPU-b"));
    CHECK(importer.find(kHandle) == "GPU-a");
    CHECK(importer.find(kOther) == "GPU-b");
    CHECK(exporter.find(kHandle) == "GPU-a");  // a process can import what it exported
    CHECK(!importer.find(std::string(64, '\x02')));
    CHECK(exporter.publish(kHandle, "GPU-c"));  // the driver gave the same handle again
    CHECK(importer.find(kHandle) == "GPU-c");
    exporter.close();
    CHECK(!importer.find(kHandle));
}

// The signal that comes with a limit of files' sizes is not the program's, whose own stays where it is.
void file_size_limit() {
    const std::string folder = new_folder();
    const pid_t child = fork();
    if (child == 0) {
        const rlimit limit{0, 0};
        setrlimit(RLIMIT_FSIZE, &limit);
        Exports exporter(folder);
        if (exporter.publish(kHandle, "GPU-a")) _exit(1);
        sigset_t own;
        sigemptyset(&own);
        sigaddset(&own, SIGXFSZ);
        const BlockedSignals blocked(own);
        raise(SIGXFSZ);
        if (exporter.publish(kHandle, "GPU-a")) _exit(2);
        sigset_t pending;
        _exit(sigpending(&pending) == 0 && sigismember(&pending, SIGXFSZ) == 1 ? 0 : 3);
    }
    int status = 1;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK_EQ(status, 0);
}

void of_another_process() {
    const std::string folder = new_folder();
    int ready[2];
    int stop[2];
    CHECK(pipe(ready) == 0 && pipe(stop) == 0);
    const pid_t child = fork();
    if (child == 0) {
        Exports exporter(folder);
        exporter.publish(kHandle, "GPU-a");
        char byte = 0;
        if (write(ready[1], &byte, 1) != 1 || read(stop[0], &byte, 1) != 1) _exit(1);
        _exit(0);  // as a process that is killed: its file stays
    }
    char byte = 0;
    CHECK(read(ready[0], &byte, 1) == 1);
    Exports importer(folder);
    CHECK(importer.find(kHandle) == "GPU-a");
    CHECK(write(stop[1], &byte, 1) == 1);
    CHECK(waitpid(child, nullptr, 0) == child);
    CHECK(!importer.find(kHandle));  // what a dead process exported is gone
}

// What one process passes on as a file descriptor and closes is still recognized by another that got it.
void by_descriptor() {
    const std::string folder = new_folder();
    int files[2];
    int others[2];
    int ready[2];
    int stop[2];
    CHECK(pipe(files) == 0 && pipe(others) == 0 && pipe(ready) == 0 && pipe(stop) == 0);
    const pid_t child = fork();
    if (child == 0) {
        Exports exporter(folder);
        exporter.publish_descriptor(files[0], "GPU-a");
        exporter.publish_descriptor(others[0], "GPU-b");
        close(files[0]);
        char byte = 0;
        if (write(ready[1], &byte, 1) != 1 || read(stop[0], &byte, 1) != 1) _exit(1);
        _exit(0);
    }
    char byte = 0;
    CHECK(read(ready[0], &byte, 1) == 1);
    Exports importer(folder);
    CHECK(importer.find_descriptor(files[0]) == "GPU-a");
    CHECK(importer.find_descriptor(others[0]) == "GPU-b");
    CHECK(!importer.find_descriptor(files[1]));
    CHECK(!importer.find_descriptor(-1));
    CHECK(write(stop[1], &byte, 1) == 1);
    CHECK(waitpid(child, nullptr, 0) == child);
    CHECK(!importer.find_descriptor(files[0]));
}

void unsafe_folders() {
    const std::string folder = new_folder();
    CHECK(mkdir(folder.c_str(), 0777) == 0 && chmod(folder.c_str(), 0777) == 0);
    Exports open_to_all(folder);
    CHECK(!open_to_all.publish(kHandle, "GPU-a"));
    const std::string link = new_folder();
    const std::string target = new_folder();
    CHECK(mkdir(target.c_str(), 0700) == 0 && symlink(target.c_str(), link.c_str()) == 0);
    Exports linked(link);
    CHECK(!linked.publish(kHandle, "GPU-a"));
    Exports nowhere("/proc/no/such/folder");
    CHECK(!nowhere.publish(kHandle, "GPU-a"));
    CHECK(!nowhere.find(kHandle));
}

void line_without_an_end() {
    const std::string folder = new_folder();
    Exports importer(folder);
    CHECK(mkdir(folder.c_str(), 0700) == 0);
    const int fd = open((folder + "/file").c_str(), O_CREAT | O_WRONLY, 0600);
    CHECK(flock(fd, LOCK_EX) == 0);
    std::string line = "\n";
    for (int i = 0; i < 64; ++i) line += "01";
    line += " GPU-a";
    CHECK(write(fd, line.data(), line.size()) == static_cast<ssize_t>(line.size()));
    CHECK(!importer.find(kHandle));
    CHECK(write(fd, "\n", 1) == 1);
    CHECK(importer.find(kHandle) == "GPU-a");
    close(fd);
}

}  // namespace

int main() {
    told_and_found();
    file_size_limit();
    of_another_process();
    by_descriptor();
    unsafe_folders();
    line_without_an_end();
    return test::summary("exports");
}
