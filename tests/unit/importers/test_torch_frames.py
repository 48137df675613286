"""Which frame of a stack made a tensor: stacks as PyTorch records them by default, with C++ among Python."""

from __future__ import annotations

import pytest

from snoopie.importers.torch_frames import Frame, own_frame

ALLOCATOR: list[Frame] = [
    ("??", 0, "torch::unwind::unwind()"),
    ("??", 0, "torch::CapturedTraceback::gather(bool, bool, bool)"),
    ("memory_snapshot.cpp", 0, "torch::cuda::(anonymous namespace)::gather_with_cpp()"),
    ("", 0, "c10::cuda::CUDACachingAllocator::Native::NativeCachingAllocator::allocate(unsigned long)"),
]
OPERATOR: list[Frame] = [
    ("RegisterCUDA_0.cpp", 0, "at::(anonymous namespace)::create_out(c10::ArrayRef<long>)"),
    ("??", 0, "at::_ops::mul_Tensor::redispatch(c10::DispatchKeySet, at::Tensor const&, at::Tensor const&)"),
    ("??", 0, "at::_ops::mul_Tensor::call(at::Tensor const&, at::Tensor const&)"),
]
INTERPRETER: list[Frame] = [
    ("??", 0, "_PyEval_EvalFrameDefault"),
    ("/usr/local/src/conda/python-3.12.3/Objects/call.c", 240, "_PyObject_MakeTpCall"),
    ("/opt/gcc/include/c++/13/functional", 61, "std::function<void ()>::operator()() const"),
]
BACKWARD: list[Frame] = [
    ("??", 0, "torch::autograd::generated::DivBackward0::apply(std::vector<at::Tensor>&&)"),
    ("", 0, "torch::autograd::Node::operator()(std::vector<at::Tensor>&&)"),
    ("??", 0, "torch::autograd::Engine::thread_main(std::shared_ptr<torch::autograd::GraphTask> const&)"),
    ("thread48.o", 0, "execute_native_thread_routine"),
    ("??", 0, "clone"),
]
MODULE: Frame = ("/home/u/.venv/lib/python3.12/site-packages/torch/nn/modules/module.py", 1790, "_call_impl")
COMPILED: Frame = ("/tmp/torchinductor_u/z3/cz3vcpgktv5m.py", 662, "call")
OWN: Frame = ("/home/u/model.py", 101, "forward")
OUTER: Frame = ("/home/u/train", 9, "<module>")


@pytest.mark.parametrize(
    ("stack", "made"),
    [
        pytest.param([*ALLOCATOR, *OPERATOR, OWN, *INTERPRETER, MODULE, OUTER], OWN, id="an operator"),
        pytest.param([*ALLOCATOR, *OPERATOR, MODULE, *INTERPRETER, OWN, OUTER], OWN, id="in a library"),
        pytest.param([*ALLOCATOR, COMPILED, *INTERPRETER, OUTER, *INTERPRETER], OUTER, id="compiled"),
        pytest.param([*ALLOCATOR, ("<eval_with_key>.3", 4, "forward"), MODULE, OWN], OWN, id="a graph of torch.fx"),
        pytest.param(
            [*ALLOCATOR, ("C:\\v\\Lib\\site-packages\\torch\\nn\\linear.py", 9, "forward"), OWN], OWN, id="Windows"
        ),
        pytest.param(
            [("<ipython-input-3-b54>", 2, "<module>"), MODULE], ("<ipython-input-3-b54>", 2, "<module>"), id="cell"
        ),
        pytest.param([*ALLOCATOR, *OPERATOR, COMPILED, *INTERPRETER, MODULE], COMPILED, id="libraries alone"),
        pytest.param([*ALLOCATOR, *OPERATOR, *BACKWARD], ("", 0, "DivBackward0"), id="a gradient"),
        pytest.param([*ALLOCATOR, *OPERATOR, *INTERPRETER], ("", 0, "mul_Tensor"), id="no Python"),
        pytest.param(ALLOCATOR, ALLOCATOR[0], id="the allocator alone"),
        pytest.param([], ("", 0, ""), id="nothing"),
    ],
)
def test_the_frame_that_made_a_tensor(stack: list[Frame], made: Frame) -> None:
    assert own_frame(stack) == made
