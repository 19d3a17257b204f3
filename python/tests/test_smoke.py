"""What works after every change, in a few seconds and without another package: a program as well as tests."""
import array
import asyncio
import pathlib
import pickle

import wick

NOVELIST = pathlib.Path(__file__).resolve().parents[2] / "models/novelist-20m-q8_0.gguf"


def test_tensors():
    x = wick.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert (x @ x.T).tolist() == [[5, 11], [11, 25]] and (2 - x[:, ::-1]).tolist() == [[0, 1], [-2, -1]]
    assert x[x > 2].tolist() == [3, 4] and x[None, [1, 0], [0, 0]].tolist() == [[3, 1]] and x.sum(0).tolist() == [4, 6]
    assert (wick.tensor([1, 2]) / 2).dtype == wick.f32 and (x > 1).dtype == wick.bool and x.T.strides == (1, 2)
    assert pickle.loads(pickle.dumps(x)).tolist() == x.tolist() and repr(x).endswith("Tensor[[2, 2], f32]")


def test_memory_is_shared():
    numbers = array.array("f", [1, 2, 3])
    x = wick.asarray(numbers)
    x[1] = 9
    assert numbers[1] == 9 and wick.from_dlpack(x).tolist() == [1, 9, 3] and wick.from_dlpack(x.__dlpack__()).tolist() == [1, 9, 3]


def test_gradients():
    w = wick.Var([1.0, 2.0])
    (w * w).sum().backward()
    assert w.grad.tolist() == [2, 4]


def test_mistakes():
    x = wick.zeros((2, 3))
    for call, kind in ((lambda: x @ x, ValueError), (lambda: x[5], IndexError), (lambda: x + "a", TypeError), (lambda: wick.load("/nowhere"), FileNotFoundError),
                       (lambda: wick.Device("cpu:9"), RuntimeError)):
        try:
            call()
        except kind as error:
            assert "\n" not in str(error)
        else:
            raise AssertionError(kind)


def test_texts():
    with wick.load(NOVELIST, device="cpu", context=256) as model:
        text = model.generate("Once upon a time", max_tokens=8, temperature=0).text
        assert "".join(model.generate("Once upon a time", max_tokens=8, temperature=0, stream=True)) == text
        assert asyncio.run(model.generate_async("Once upon a time", max_tokens=8, temperature=0)).text == text
        assert model.generate("Yes or no? ", choices=["yes", "no"]).text in ("yes", "no")


if __name__ == "__main__":
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            test()
            print(f"{name}: ok")
