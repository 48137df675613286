"""A Spack recipe for Snoopie, for Spack 1.

Put this file into a repository of yours as packages/snoopie/package.py. Start Spack in a folder with the source archive
that `python -m hatchling build -t sdist` makes. Then, with NVBit's folder core unpacked anywhere:

    spack install snoopie +cuda cuda_arch=90 nvbit=/opt/nvbit/core

Without +cuda it has no collector: enough to look at traces.
"""

# ruff: noqa: F403, F405

import os

from spack.package import *
from spack_repo.builtin.build_systems.cuda import CudaPackage
from spack_repo.builtin.build_systems.python import PythonPackage


class Snoopie(PythonPackage, CudaPackage):
    """Shows every byte that crosses between GPUs, and the line of code that sent it."""

    manual_download = True
    url = f"file://{os.getcwd()}/snoopie-0.1.0.tar.gz"

    license("Apache-2.0")

    # Spack verifies what it unpacks: `spack checksum` prints the line for your archive.
    version("0.1.0")

    variant("nvbit", default="none", values=lambda path: True, description="NVBit's folder core, unpacked")

    conflicts("nvbit=none", when="+cuda", msg="the collector needs NVBit: nvbit=/opt/nvbit/core")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("python@3.11:3.13", type=("build", "run"))
    depends_on("py-hatchling@1.27:", type="build")
    depends_on("py-numpy@1.26:", type=("build", "run"))
    depends_on("py-pandas@2.2:", type=("build", "run"))
    depends_on("py-pyarrow@15:", type=("build", "run"))
    depends_on("py-zstandard@0.22:", type=("build", "run"))
    depends_on("zstd", when="+cuda")
    depends_on("gmake", type="build", when="+cuda")
    # NVBit starts its disassemblers.
    depends_on("cuda@12.8:", type=("build", "link", "run"), when="+cuda")

    @run_after("install")
    def install_collector(self):
        if not self.spec.satisfies("+cuda"):
            return
        arches = ",".join(self.spec.variants["cuda_arch"].value)
        nvbit = self.spec.variants["nvbit"].value
        make("-C", "nvbit_tool", "install", f"ARCH={arches}", f"NVBIT_PATH={nvbit}", f"PREFIX={self.prefix}")

    def setup_run_environment(self, env):
        if self.spec.satisfies("+cuda"):
            env.set("SNOOPIE_TOOL", join_path(self.prefix.lib, "snoopie", "mem_multigpu.so"))
