"""Random numbers: one generator a chain, and one xoshiro128++ a lane inside compiled sweeps.

All generators are spawned from one `numpy.random.SeedSequence`: draws do not depend on the number of workers.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import uint32

from .compiled import leaf

RandomState = int | np.random.SeedSequence | np.random.Generator | np.random.RandomState | None
OTHER = 2**31  # first key that is not of a chain: the search for modes, the Stein check, the demonstration


def as_seed_sequence(random_state: RandomState) -> np.random.SeedSequence:
    """Turn scikit-learn's ``random_state`` into a SeedSequence."""
    if isinstance(random_state, np.random.SeedSequence):
        return random_state
    if isinstance(random_state, np.random.Generator | np.random.RandomState):
        draw = random_state.integers if isinstance(random_state, np.random.Generator) else random_state.randint
        return np.random.SeedSequence([int(i) for i in draw(0, 2**31, size=4)])
    return np.random.SeedSequence(random_state)


def spawn_generators(random_state: RandomState, n: int) -> list[np.random.Generator]:
    """Make ``n`` independent PCG64 generators."""
    return [np.random.Generator(np.random.PCG64(s)) for s in as_seed_sequence(random_state).spawn(n)]


def descendant(seeds: np.random.SeedSequence, *key: int) -> np.random.Generator:
    """Make the generator of one purpose: of the descendant of a seed at ``key``, without a change of the seed.

    Purposes are told apart by keys, not by numbers behind the entropy: ``SeedSequence([3, 0])`` is ``SeedSequence(3)``.
    The chains of a run have the keys 0, 1, ...; other purposes of the same seed have keys from `OTHER` on.
    """
    return np.random.default_rng(np.random.SeedSequence(seeds.entropy, spawn_key=(*seeds.spawn_key, *key)))


def generator_to_array(rng: np.random.Generator) -> np.ndarray:
    """Convert the state of a PCG64 generator to six uint64, so that a checkpoint contains plain arrays."""
    s = rng.bit_generator.state
    word = (1 << 64) - 1
    state, inc = s["state"]["state"], s["state"]["inc"]
    return np.array([state >> 64, state & word, inc >> 64, inc & word, s["has_uint32"], s["uinteger"]], dtype=np.uint64)


def generator_from_array(a: np.ndarray) -> np.random.Generator:
    """Invert `generator_to_array`."""
    v = [int(i) for i in a]
    bit_generator = np.random.PCG64()
    bit_generator.state = {
        "bit_generator": "PCG64",
        "state": {"state": v[0] << 64 | v[1], "inc": v[2] << 64 | v[3]},
        "has_uint32": v[4],
        "uinteger": v[5],
    }
    return np.random.Generator(bit_generator)


def lane_generators(rng: np.random.Generator, n_blocks: int, n_lanes: int) -> np.ndarray:
    """Seed one xoshiro128++ for each lane: uint32 array (n_blocks, 4, n_lanes), period 2^128 - 1 each.

    Seeds are drawn from the generator of the chain, so the streams of its lanes are determined by the chain's seed.
    """
    shape = (n_blocks, 4, n_lanes)
    # Rows begin on cache lines: unaligned vectors would slow a sweep by a tenth.
    memory = np.empty(math.prod(shape) * 4 + 64, dtype=np.uint8)
    lanes = memory[-memory.ctypes.data % 64 :][: math.prod(shape) * 4].view(np.uint32).reshape(shape)
    lanes[...] = rng.integers(1, 2**32, size=shape, dtype=np.uint64)
    return lanes


@leaf
def next_uint32(lanes, lane):
    """Advance the xoshiro128++ generator of one lane of a block, ``lanes`` (4, n_lanes); return 32 random bits.

    Blackman and Vigna (2021). Each operation is cast back: numba promotes uint32 arithmetic to 64 bits otherwise.
    """
    s0, s1, s2, s3 = lanes[0, lane], lanes[1, lane], lanes[2, lane], lanes[3, lane]
    t = uint32(s0 + s3)
    out = uint32(uint32(uint32(t << uint32(7)) | uint32(t >> uint32(25))) + s0)
    t = uint32(s1 << uint32(9))
    s2 = uint32(s2 ^ s0)
    s3 = uint32(s3 ^ s1)
    s1 = uint32(s1 ^ s2)
    s0 = uint32(s0 ^ s3)
    s2 = uint32(s2 ^ t)
    s3 = uint32(uint32(s3 << uint32(11)) | uint32(s3 >> uint32(21)))
    lanes[0, lane], lanes[1, lane], lanes[2, lane], lanes[3, lane] = s0, s1, s2, s3
    return out


def described_sequence(seed: dict[str, Any]) -> np.random.SeedSequence:
    """Return the seed that is described in plain JSON values."""
    key, spawned = tuple(seed["spawn_key"]), seed["spawned"]
    if type(spawned) is not int or not 0 <= spawned < 2**31:
        raise ValueError
    return np.random.SeedSequence(seed["entropy"], spawn_key=key, n_children_spawned=spawned)
