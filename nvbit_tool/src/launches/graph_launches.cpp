#include "launches/graph_launches.h"

#include <algorithm>
#include <set>

#include "launches/launch_code.h"
#include "nvbit.h"
#include "settings/kernel_filter.h"

namespace snoopie {

namespace {

uint64_t value_of(const Launch& launch) { return launch.flight ? launch.context->launch_value(*launch.flight) : kLaunchUncounted; }

// What comes in one stream from now on waits for what is in another, of this context, so far.
bool stand_behind(Context* context, CUstream first, CUstream second) {
    const CUevent event = context->events().take();
    const bool behind = event && succeeded(cuEventRecord(event, first)) && succeeded(cuStreamWaitEvent(second, event, 0));
    context->events().give_back(event);
    return behind;
}

// The stream of a launch, or one of the kernel's context that stands for it: there the launch's values are written and its end is seen.
CUstream stream_in(Context& context, const GraphLaunch& launch) {
    return &context == launch.context ? launch.stream : context.side_stream();
}

// The kernel that NVBit tells of.
LaunchCall call_of(CUcontext context, CUfunction function) {
    func_config_t config{};
    nvbit_get_func_config(context, function, &config);
    return {function,
            nullptr,
            {config.gridDimX, config.gridDimY, config.gridDimZ},
            {config.blockDimX, config.blockDimY, config.blockDimZ},
            config.shmem_dynamic_nbytes};
}

// Whether the kernel's code reads a launch value.
bool reads_value(const Context& context, const ContextFunction& function) {
    return context.memory() && function.instrumented && function.last_site != 0;
}

}  // namespace

GraphLaunch GraphLaunches::before(CUcontext current, CUgraphExec handle, CUstream stream) {
    GraphLaunch launch;
    launch.handle = handle;
    launch.stream = stream;
    if (capturing(stream)) return launch;
    launch.graph = find(handle);
    launch.context = contexts_->find_for_launch(context_of(stream, current));
    ExecutableGraph& graph = *launch.graph;
    if (!launch.context || graph.kernels.empty()) return launch;
    const OwnCalls own;
    // The driver lets launches of a graph run one after the other. What is written for this one comes behind the last one, too.
    const bool behind = graph.stream == stream && stream != CU_STREAM_PER_THREAD;
    if (graph.launched && !behind) succeeded(cuStreamWaitEvent(stream, graph.launched, 0));
    launch.announced = !graph.changed;
    for (GraphPlace& kernel : graph.kernels) {
        launch.kernels.push_back(board(&launch, *kernel.context, *kernel.function, kernel.call));
        if (launch.announced) announce(&launch, &kernel, &launch.kernels.back());
    }
    write(&launch);
    return launch;
}

Launch GraphLaunches::board(GraphLaunch* graph, Context& context, ContextFunction& function, LaunchCall call) {
    Launch launch;
    ++tally_->seen;
    const CurrentContext current(context.handle());
    launch.context = &context;
    launch.stream = call.stream = stream_in(context, *graph);
    launch.outside = function.selected && !decision_->inside(context);
    // Of one outside, the code stays as it is, and counts for nobody.
    if (launch.outside || !function.selected) return launch;
    if (function.instrumented) {
        const std::unique_lock lock(function.launching);
        ++function.launches;
        boarding_->prepare(context, function, call);
        launch.lost = function.unmeasurable;
        if (function.last_site != 0) board_measured(graph, function, call, &launch);
    } else if (context.memory() && decision_->reaches_foreign(context)) {
        ++tally_->lost;
        launch.lost = true;
        notices_->note_once("kernel " + without_arguments(function.name) +
                            " entered a CUDA graph unnoticed: its launches by the graph are not measured");
    }
    return launch;
}

void GraphLaunches::board_measured(GraphLaunch* graph, ContextFunction& function, const LaunchCall& call, Launch* launch) {
    Context& context = *launch->context;
    const Decision& decision = decide(graph, context, function);
    const bool needs_probes = decision.code != Code::original;
    if (needs_probes) launch->flight = boarding_->board(context, function, call, decision);
    // The kernel has a value of its own.
    const std::optional<uint64_t> value = launch->flight ? std::optional(kLaunchUncounted) : std::nullopt;
    if (!context.code().choose(function, call, value, false, decision.live)) boarding_->lose_late(context, &launch->flight);
    ++function.nodes_under_way;
    launch->node_of = &function;
    launch->lost = needs_probes && !launch->flight;
}

// The same for all launches of the function: they run the same code.
const Decision& GraphLaunches::decide(GraphLaunch* graph, const Context& context, ContextFunction& function) {
    const auto known =
        std::find_if(graph->decisions.begin(), graph->decisions.end(), [&](const auto& one) { return one.first == &function; });
    if (known != graph->decisions.end()) return known->second;
    return graph->decisions.emplace_back(&function, decision_->decide_for_graphs(context, function)).second;
}

void GraphLaunches::announce(GraphLaunch* graph, GraphPlace* kernel, Launch* launch) {
    if (!launch->node_of || launch->lost) return;
    LaunchCall call = kernel->call;
    call.stream = graph->stream;
    const uint32_t stack = stack_of(graph, kernel);
    if (launch->flight) return boarding_->announce(*launch->context, *launch->flight, call, stack);
    boarding_->without_probes(*launch->context, *launch->node_of, call, stack);
    launch->without_probes = launch->node_of;
}

uint32_t GraphLaunches::stack_of(GraphLaunch* graph, GraphPlace* kernel) {
    if (!kernel->stack) {
        const std::vector<uint32_t> stacks = stacks_->of(graph->handle, {kernel->function, kernel->call.grid});
        kernel->stack = stacks.empty() ? 0 : common_(stacks);
    }
    if (*kernel->stack) return *kernel->stack;
    if (!graph->stack) graph->stack = stack_();
    return *graph->stack;
}

void GraphLaunches::write(GraphLaunch* launch) {
    std::map<Context*, std::vector<ProbeMemory::CellValue>> values;
    std::vector<GraphPlace>& kernels = launch->graph->kernels;
    for (size_t i = 0; i < kernels.size(); ++i) {
        const uint64_t value = value_of(launch->kernels[i]);
        if (!kernels[i].cell || (value == kLaunchUncounted && kernels[i].value == value)) continue;
        kernels[i].value = value;
        values[kernels[i].context].push_back({*kernels[i].cell, value});
    }
    for (const auto& [context, cells] : values) {
        if (write(*launch, *context, cells)) continue;
        for (size_t i = 0; i < kernels.size(); ++i) {
            if (kernels[i].context != context) continue;
            kernels[i].value = std::nullopt;
            lose(&launch->kernels[i]);
        }
    }
    if (launch->announced) return;
    EventPool& events = launch->context->events();
    launch->written = events.take();
    if (launch->written && !succeeded(cuEventRecord(launch->written, launch->stream)))
        events.give_back(std::exchange(launch->written, nullptr));
}

bool GraphLaunches::write(const GraphLaunch& launch, Context& context, const std::vector<ProbeMemory::CellValue>& cells) {
    const CUstream stream = stream_in(context, launch);
    if (&context == launch.context) return context.memory()->write_launch_cells(cells, stream);
    return stream && stand_behind(launch.context, launch.stream, stream) && context.memory()->write_launch_cells(cells, stream) &&
           stand_behind(&context, stream, launch.stream);
}

void GraphLaunches::at_kernel(GraphLaunch* launch, CUcontext handle, CUfunction told, CUstream stream, uint64_t launch_handle) {
    const size_t place = launch->told++;
    Context* const context = contexts_->find_for_launch(handle);
    if (!context || !launch->graph) return;
    const OwnCalls own;
    ContextFunction& function = decision_->function(*context, told);
    std::vector<GraphPlace>& kernels = launch->graph->kernels;
    kernels.resize(std::max(kernels.size(), place + 1));
    launch->kernels.resize(std::max(launch->kernels.size(), place + 1));
    GraphPlace& kernel = kernels[place];
    Launch& own_launch = launch->kernels[place];
    const bool boarded = own_launch.context == context && kernel.function == &function;
    if (!boarded || !launch->announced) {
        kernel.context = context;
        kernel.function = &function;
        kernel.call = call_of(handle, told);
        kernel.stack = std::nullopt;
    }
    if (!boarded) {
        launches_->after(std::move(own_launch), false);
        own_launch = board(launch, *context, function, kernel.call);
        write_now(*launch, &kernel, &own_launch);
    }
    if (!boarded || !launch->announced) announce(launch, &kernel, &own_launch);
    const uint64_t value = value_of(own_launch);
    nvbit_set_at_launch(handle, told, kernel.cell && kernel.value == value ? *kernel.cell : value, stream, launch_handle);
}

// What NVBit gives a kernel is among its constants, of which the GPU keeps some between launches of the graph: later ones would read what
// was given to one before. So it is the kernel's cell each time.
void GraphLaunches::write_now(const GraphLaunch& launch, GraphPlace* kernel, Launch* own) {
    if (!reads_value(*kernel->context, *kernel->function)) return;
    if (!kernel->cell) kernel->cell = kernel->context->take_launch_cell();
    if (!kernel->cell) {
        notices_->note_once(
            "there are more kernels in CUDA graphs than can be told apart: what a launch of a graph does may count as done by a launch of "
            "it before; sums are right");
        return;
    }
    kernel->value = value_of(*own);
    if (kernel->context->memory()->write_launch_cell_now(*kernel->cell, *kernel->value, launch.written)) return;
    kernel->value = std::nullopt;
    lose(own);
}

void GraphLaunches::lose(Launch* launch) {
    if (!launch->flight) return;
    boarding_->lose(
        *launch->context, &launch->flight,
        " in a CUDA graph could not be prepared: the driver refused, or the stream did not get there in time. The launch was not "
        "measured");
    launch->lost = true;
}

void GraphLaunches::after(GraphLaunch launch, bool worked) {
    const OwnCalls own;
    std::set<Context*> elsewhere;
    for (const Launch& kernel : launch.kernels)
        if (worked && kernel.flight && kernel.context != launch.context && elsewhere.insert(kernel.context).second)
            stand_behind(launch.context, launch.stream, kernel.stream);
    launches_->after(std::move(launch.kernels), worked);
    if (!launch.graph || !launch.context) return;
    launch.context->events().give_back(launch.written);
    if (worked) launched(launch.graph.get(), launch);
}

void GraphLaunches::launched(ExecutableGraph* graph, const GraphLaunch& launch) {
    graph->changed = false;
    if (std::none_of(graph->kernels.begin(), graph->kernels.end(), [](const GraphPlace& kernel) { return kernel.cell.has_value(); }))
        return;
    if (graph->context != launch.context && graph->context) graph->context->events().give_back(std::exchange(graph->launched, nullptr));
    graph->context = launch.context;
    graph->stream = launch.stream;
    if (!graph->launched) graph->launched = launch.context->events().take();
    if (graph->launched) succeeded(cuEventRecord(graph->launched, launch.stream));
}

std::shared_ptr<ExecutableGraph> GraphLaunches::find(CUgraphExec graph) {
    const std::unique_lock lock(mutex_);
    std::shared_ptr<ExecutableGraph>& known = graphs_[graph];
    if (!known) known = std::make_shared<ExecutableGraph>();
    return known;
}

void GraphLaunches::destroyed(CUgraphExec graph) {
    std::shared_ptr<ExecutableGraph> known;
    {
        const std::unique_lock lock(mutex_);
        const auto found = graphs_.find(graph);
        if (found == graphs_.end()) return;
        known = std::move(found->second);
        graphs_.erase(found);
    }
    const OwnCalls own;
    std::map<Context*, std::vector<uint64_t>> cells;
    for (const GraphPlace& kernel : known->kernels)
        if (kernel.cell) cells[kernel.context].push_back(*kernel.cell);
    for (auto& [context, those] : cells) {
        CUevent behind = known->launched;
        if (context != known->context) {
            const CUstream stream = context->side_stream();
            behind = context->events().take();
            if (!stream || !behind || !succeeded(cuStreamWaitEvent(stream, known->launched, 0)) ||
                !succeeded(cuEventRecord(behind, stream)))
                continue;
        }
        context->code().give_back_cells(behind, std::move(those));
    }
    if (known->launched && cells.count(known->context) == 0) known->context->events().give_back(known->launched);
}

}  // namespace snoopie
