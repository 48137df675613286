-- An environment module (Lmod) for Snoopie in one prefix, which holds a Python environment and the collector:
--
--   python3 -m venv /apps/snoopie/0.1.0
--   /apps/snoopie/0.1.0/bin/pip install .
--   make -C nvbit_tool install ARCH=90,100 NVBIT_PATH=/opt/nvbit/core PREFIX=/apps/snoopie/0.1.0
--
-- Put this file into your module path as snoopie/0.1.0.lua.
whatis("Shows every byte that crosses between GPUs, and the line of code that sent it")
help([[snoopie run -- ./app      traces a program
snoopie doctor            says what a run would lack on this node]])

-- NVBit starts the disassemblers of the CUDA toolkit.
depends_on("cuda")

local prefix = pathJoin("/apps/snoopie", myModuleVersion())

prepend_path("PATH", pathJoin(prefix, "bin"))
prepend_path("MANPATH", pathJoin(prefix, "share/man"))
setenv("SNOOPIE_TOOL", pathJoin(prefix, "lib/snoopie/mem_multigpu.so"))
