"""GGUF files, quantized tensors, and candle's interface."""
import numpy as np
import pytest

import wick
import wick.candle as candle


def test_gguf_files_keep_tensors_and_metadata(tmp_path):
    x = wick.randn((4, 256))
    tensors = {"a": x.quantize("q8_0"), "b": x.to("f16"), "c": x}
    metadata = {"n": 7, "big": -2**40, "f": 1.5, "t": "text", "flag": True, "words": ["a", "b"], "matrix": [[1, 2], [3]], "reals": [1, 2.5],
                "flags": [True, False], "none": []}
    wick.save_gguf(tensors, tmp_path / "x.gguf", metadata)
    got, meta = wick.load_gguf(tmp_path / "x.gguf")
    assert meta == metadata
    for name, tensor in tensors.items():
        assert got[name].dtype == tensor.dtype and got[name].shape == tensor.shape
        np.testing.assert_array_equal(got[name].to("f32").numpy(), tensor.to("f32").numpy())
    # A block of q8_0 is 32 bytes times a scale, an f16: an error of at most half a step, and 127 steps by 2⁻¹¹.
    step = np.abs(x.numpy()).reshape(-1, 32).max(1) / 127
    error = np.abs(tensors["a"].to("f32").numpy() - x.numpy()).reshape(-1, 32).max(1)
    assert (error <= step * 0.57).all()


def test_quantizing_names_what_is_wrong(tmp_path):
    x = wick.ones((2, 40))
    for call, error in [(lambda: x.quantize("q4_0"), ValueError), (lambda: wick.full((32,), float("nan")).quantize("q4_0"), ValueError),
                        (lambda: x.quantize("q9_0"), TypeError), (lambda: wick.ones((1, 256)).quantize("iq2_xxs"), ValueError),
                        (lambda: wick.load_gguf(tmp_path / "none.gguf"), FileNotFoundError),
                        (lambda: wick.save_gguf({}, tmp_path / "x.gguf", {"a": object()}), TypeError),
                        (lambda: wick.save_gguf({}, tmp_path / "x.gguf", {"a": [1, "b"]}), TypeError),
                        (lambda: wick.save_gguf({}, tmp_path / "x.gguf", {"": 1}), ValueError)]:
        with pytest.raises(error) as info:
            call()
        assert "\n" not in str(info.value)


def test_candle_s_names():
    t = candle.Tensor([[3.0, 1.0], [5.0, 9.0]])
    assert (t > 2.0).dtype == candle.u8 and t.device == "cpu" and t.rank == 2
    assert t.matmul(t.t()).values() == [[10.0, 24.0], [24.0, 106.0]] and t.sum_keepdim(1).values() == [[4.0], [14.0]]
    assert t.max_keepdim(1).values() == [[3.0], [9.0]] and t.broadcast_add(candle.ones(2)).values() == [[4.0, 2.0], [6.0, 10.0]]
    from wick.candle import functional, nn

    layer = nn.Sequential(nn.Linear(4, 8), nn.LayerNorm(8))
    assert layer(candle.randn(2, 4)).shape == (2, 8) and [name for name, _ in layer.named_buffers()] == ["0.weight", "0.bias", "1.weight", "1.bias"]
    assert functional.softmax(candle.zeros(1, 4), 1).values() == [[0.25] * 4]
    for call, error in [(lambda: t.to("nowhere"), TypeError), (lambda: t.to(candle.f16, candle.f16), ValueError), (lambda: candle.rand(-1), OverflowError),
                        (lambda: t.missing, AttributeError)]:
        with pytest.raises(error):
            call()
