"""One safetensors file with a described content and a checksum: what model files and checkpoints are written in."""
