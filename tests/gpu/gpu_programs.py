"""What programs of apps/ do that several tests run, by the tables at their tops."""

from __future__ import annotations

from gpu_traffic import Table, Traffic, Where, dense

# ring
RING_KERNELS = ("put", "get", "bump")

# mixed
MIXED_THREADS = 512
MIXED_COPIES = {"unsigned char": 1, "unsigned short": 2, "unsigned int": 4, "unsigned long": 8, "uint4": 16}


def of_ring_once(issuer: int, gpus: int, n: int) -> dict[Where, Traffic]:
    """The table at the top of ring.cu."""
    owner = (issuer + 1) % gpus
    return {
        Where(issuer, owner, "put", "put"): dense("store", 4, n),
        Where(issuer, owner, "get", "get"): dense("load", 16, n // 4),
        Where(issuer, owner, "bump", "bump"): Traffic("reduction", 4, 8, 256, 8),
    }


def of_ring(gpus: int, n: int, iterations: int) -> Table:
    tables = [of_ring_once(issuer, gpus, n) for issuer in range(gpus)]
    return {where: traffic.times(iterations) for table in tables for where, traffic in table.items()}


def of_jacobi(gpus: int, columns: int, iterations: int) -> Table:
    """The table at the top of jacobi.cu."""
    inner = columns - 2
    row = Traffic("store", 4, inner // 32 + 1, inner, inner // 4 + 1).times(iterations)
    up = {Where(gpu, gpu - 1, "sweep", "up"): row for gpu in range(1, gpus)}
    down = {Where(gpu, gpu + 1, "sweep", "down"): row for gpu in range(gpus - 1)}
    return up | down
