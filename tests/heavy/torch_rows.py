"""What PyTorch offers for the row kernels, in its eager mode on one thread, as references to be timed."""

import functools

import torch

torch.set_num_threads(1)
_tensors = {}


def _tensor(array):
    """Return the tensor over an array; made once, since that is no part of the work."""
    key = (array.ctypes.data, array.shape)
    if key not in _tensors:
        _tensors[key] = torch.from_numpy(array)
    return _tensors[key]


@functools.lru_cache(maxsize=16)
def _out(shape):
    return torch.empty(shape)


def softmax(source):
    """A new result each time, as programs mostly have it."""
    return torch.softmax(_tensor(source), -1).numpy()


def softmax_out(source):
    """Into a result that is there."""
    return torch.softmax(_tensor(source), -1, out=_out(source.shape)).numpy()


def layernorm(source, scale, shift):
    """A new result each time, as programs mostly have it."""
    x, weight, bias = map(_tensor, (source, scale, shift))
    return torch.nn.functional.layer_norm(x, (source.shape[1],), weight, bias, 1e-5).numpy()
