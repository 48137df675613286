"""shards.py N ROUNDS: JAX sums arrays of N floats, one on each GPU, ROUNDS times, in one process.

XLA compiles on many threads, tries kernels out and unloads them, and launches on each GPU from a thread of its own.
"""

import sys
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec


def main() -> None:
    n, rounds = int(sys.argv[1]), int(sys.argv[2])
    gpus = jax.devices("gpu")
    shards = partial(
        jax.shard_map,
        mesh=Mesh(np.array(gpus), ("gpu",)),
        in_specs=PartitionSpec("gpu"),
        out_specs=PartitionSpec("gpu"),
    )

    # Halved, so that two of them keep their size; exact, as are sums of such numbers.
    @jax.jit
    @shards
    def step(values: jax.Array) -> jax.Array:
        return jax.lax.psum(values, "gpu") / len(gpus) + 1

    begun = np.arange(len(gpus) * n, dtype=np.float32) % 1024
    values = jnp.asarray(begun)
    for _ in range(rounds):
        values = step(values)
    expected = np.tile(begun.reshape(len(gpus), n).sum(0) / len(gpus) + rounds, len(gpus))
    print("PASS" if np.array_equal(np.asarray(values), expected) else "FAIL")


if __name__ == "__main__":
    main()
