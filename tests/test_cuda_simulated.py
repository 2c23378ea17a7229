"""Without a GPU: the CUDA kernels as Numba simulates them find what the CPU's loops find."""

import os
import subprocess
import sys
from pathlib import Path


def test_simulated_kernels_equal_the_loops_of_the_cpu():
    script = Path(__file__).with_name("simulated_cuda.py")
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_DISABLE_JIT"}
    done = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 6
