#include "launches/sampling_rows.h"

#include <map>
#include <utility>

namespace snoopie {

void write_sampling(const Contexts& contexts, TraceWriter* writer) {
    std::map<std::pair<uint32_t, uint8_t>, SamplingRow> rows;
    contexts.each([&](Context& context) {
        for (const ContextFunction* function : context.functions()) {
            if (function->id == 0 || function->launches == function->launches_measured) continue;
            SamplingRow& row = rows[{function->id, context.gpu()}];
            row.function = function->id;
            row.gpu = context.gpu();
            row.launches += function->launches;
            row.measured += function->launches_measured;
        }
    });
    for (const auto& [key, row] : rows) writer->append(row);
}

}  // namespace snoopie
