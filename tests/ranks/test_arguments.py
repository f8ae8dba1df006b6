"""Arguments of a call: they take each call's changes, and come back as they were."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed for this Python")

from tests.ranks.drawing import argument, source
from workbench.ranks.arguments import Arguments
from workbench.ranks.tree import plain


def test_arguments_take_the_changes_and_nothing_else() -> None:
    """Writing a call's changes into the arguments changes those elements only."""
    spec = argument()
    inputs = source(spec)
    (base,) = inputs.draw(1, 0, False, 1.0)
    given = Arguments([("plain", base)], [], torch.device("cpu"))
    (delta,) = inputs.deltas(1, 1)
    given.refresh([delta])
    expected = base.reshape(-1).clone()
    expected[delta.indices] = delta.values
    assert torch.equal(given.values[0], expected.reshape(10, 100))
    assert not torch.equal(given.values[0], base)


def test_mutable_arguments_are_restored_before_every_call() -> None:
    """What a call did to an argument that it may overwrite is undone, and changes between calls stay."""
    inputs = source(argument(mutates="may"))
    (base,) = inputs.draw(1, 0, False, 1.0)
    given = Arguments([("plain", base)], [0], torch.device("cpu"))
    expected = base.reshape(-1).clone()
    for call in range(3):
        (delta,) = inputs.deltas(1, call)
        given.refresh([delta])
        expected[delta.indices] = delta.values
        assert torch.equal(given.values[0].reshape(-1), expected)
        given.values[0].zero_()


def test_results_in_an_arguments_memory_are_found() -> None:
    """A result that is a view of an argument is named; a copy, and tensors without elements, are not."""
    values = (torch.ones(4), 3, torch.ones(2, 2), torch.ones(0))
    given = Arguments([("plain", value) for value in values], [], torch.device("cpu"))
    first, _, second, empty = given.values
    assert given.overlaps(second[1:]) == [2]
    assert given.overlaps((torch.ones(4), {"a": [first.view(2, 2).T]})) == [0]
    assert given.overlaps((first.clone(), torch.ones(0), empty, None, 3)) == []


def test_lists_of_tensors_change_and_come_back_as_a_whole() -> None:
    """Changes are counted over all tensors of a list, and an entry that a call replaced is put back."""
    inputs = source(argument(kind="tensors", shape=[3, 4], mutates="must", canary=1.0))
    (base,) = inputs.draw(1, 0, False, 1.0)
    given = Arguments([plain(base)], [0], torch.device("cpu"))
    (delta,) = inputs.deltas(1, 0)
    for _call in range(2):
        given.refresh([delta])
        (values,) = given.values
        assert isinstance(values, list)
        assert torch.equal(torch.cat(values), delta.values)
        values[0].zero_()
        values[2] = torch.ones(4)
        assert [leaf.tolist() for leaf in given.after()[0]][0::2] == [[0] * 4, [1] * 4]


def test_linear_layers_arrive_as_layers() -> None:
    """A linear layer has weight and bias of the declared form, and changes reach both."""
    inputs = source(argument(kind="linear", shape=[5, 3], canary=1.0))
    (base,) = inputs.draw(1, 0, False, 1.0)
    given = Arguments([plain(base)], [], torch.device("cpu"))
    layer = given.values[0]
    assert isinstance(layer, torch.nn.Linear)
    assert (tuple(layer.weight.shape), tuple(layer.bias.shape)) == ((5, 3), (5,))
    assert torch.equal(layer.weight, base.weight)
    (delta,) = inputs.deltas(1, 0)
    given.refresh([delta])
    assert torch.equal(torch.cat([layer.weight.flatten(), layer.bias]), delta.values)
