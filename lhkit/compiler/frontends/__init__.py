"""Programs of other systems as linalg on tensors.

- ``torch_importer``: A process that converts exported PyTorch modules.
- ``torch_conversion``: Exported PyTorch programs, with weights by name and layers in comments.
- ``torch_scans``: Running sums and products as loops.
- ``stablehlo_conversion``: StableHLO, as JAX writes it.
"""
