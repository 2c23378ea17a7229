"""Model files and checkpoints as files: tensors in the safetensors layout, a JSON document, a checksum over all bytes.

`file` writes and reads them, `schema` checks JSON of unknown origin, `values` turns Python and NumPy values into JSON
and back, `tensors` hands out the tensors one by one, each checked for its type and shape.
"""
