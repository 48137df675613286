#include "trace/notices.h"

#include "base/clock.h"

namespace snoopie {

void Notices::note(const std::string& text) { writer_->append(NoticeRow{now_ns(), text}); }

bool Notices::note_once(const std::string& text) {
    {
        std::unique_lock lock(mutex_);
        if (!noted_.insert(text).second) return false;
    }
    note(text);
    return true;
}

}  // namespace snoopie
