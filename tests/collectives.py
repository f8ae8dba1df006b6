"""Stand-ins for ``torch.distributed`` in the text of a reference: no other ranks, no rank 1, another order, counting.

Each text becomes part of a candidate. ``_real`` is torch.distributed itself; every rank still calls what it called.
"""

from __future__ import annotations

COMMON = """
import types as _types


class _Done:
    def wait(self, timeout=None):
        return True

    def is_completed(self):
        return True


class _Collectives:
    def __getattr__(self, name):
        return getattr(_real, name)

    def P2POp(self, op, tensor, peer, group=None, tag=0):
        return _types.SimpleNamespace(op=op.__name__, tensor=tensor, peer=peer, group=group)


def _finished(async_op):
    return _Done() if async_op else None
"""

LOCAL = """
def _fill(out, tensor):
    have, want = tensor.reshape(-1), out.numel()
    if have.numel():
        out.copy_(have.repeat(-(-want // have.numel()))[:want].view_as(out))
    else:
        out.zero_()


class _LocalCollectives(_Collectives):
    def all_reduce(self, tensor, op=None, group=None, async_op=False):
        return _finished(async_op)

    def reduce(self, tensor, dst=None, op=None, group=None, async_op=False):
        return _finished(async_op)

    def broadcast(self, tensor, src=None, group=None, async_op=False):
        return _finished(async_op)

    def barrier(self, group=None):
        pass

    def all_gather_into_tensor(self, out, tensor, group=None, async_op=False):
        _fill(out, tensor)
        return _finished(async_op)

    def all_gather(self, pieces, tensor, group=None, async_op=False):
        for piece in pieces:
            _fill(piece, tensor)
        return _finished(async_op)

    def all_gather_object(self, objects, value, group=None):
        objects[:] = [value] * len(objects)

    def reduce_scatter_tensor(self, out, tensor, op=None, group=None, async_op=False):
        pieces = tensor.reshape(_real.get_world_size(group), -1)
        out.copy_(pieces[_real.get_rank(group)].view_as(out))
        return _finished(async_op)

    def scatter(self, piece, pieces=None, src=0, group=None):
        piece.copy_(pieces[src]) if pieces else piece.zero_()

    def gather(self, tensor, pieces=None, dst=0, group=None):
        for piece in pieces or []:
            _fill(piece, tensor)

    def all_to_all_single(
        self, out, tensor, output_split_sizes=None, input_split_sizes=None, group=None, async_op=False
    ):
        _fill(out, tensor)
        return _finished(async_op)

    def all_to_all(self, received, sent, group=None, async_op=False):
        for piece, mine in zip(received, sent):
            _fill(piece, mine)
        return _finished(async_op)

    def send(self, tensor, dst=None, group=None, tag=0):
        pass

    def recv(self, tensor, src=None, group=None, tag=0):
        tensor.zero_()
        return src

    def isend(self, tensor, dst=None, group=None, tag=0):
        return _Done()

    def irecv(self, tensor, src=None, group=None, tag=0):
        tensor.zero_()
        return _Done()

    def batch_isend_irecv(self, operations):
        sent = [one.tensor for one in operations if one.op == "isend"]
        for number, one in enumerate(one for one in operations if one.op == "irecv"):
            _fill(one.tensor, sent[number % len(sent)]) if sent else one.tensor.zero_()
        return []


dist = _LocalCollectives()
"""

WITHOUT_RANK_1 = """
def _skipped():
    return _real.get_rank() == min(1, _real.get_world_size() - 1)


def _sent(tensor):
    # Counts and indices stay, so that every rank still agrees on what is exchanged.
    floating = tensor.is_floating_point() or tensor.is_complex() or tensor.dtype == torch.uint8
    return torch.zeros_like(tensor) if floating and _skipped() else tensor


class _WithoutRank1(_Collectives):
    def all_reduce(self, tensor, op=_real.ReduceOp.SUM, group=None, async_op=False):
        if _skipped() and tensor.is_floating_point():
            tensor.fill_({_real.ReduceOp.MAX: float("-inf"), _real.ReduceOp.MIN: float("inf")}.get(op, 0))
        return _real.all_reduce(tensor, op=op, group=group, async_op=async_op)

    def reduce(self, tensor, dst=None, op=_real.ReduceOp.SUM, group=None, async_op=False):
        return _real.reduce(_sent(tensor) if _real.get_rank() != dst else tensor, dst, op=op, group=group)

    def broadcast(self, tensor, src=None, group=None, async_op=False):
        # The rank takes part and throws away what it got.
        return _real.broadcast(tensor.clone() if _skipped() else tensor, src, group=group, async_op=async_op)

    def all_gather_into_tensor(self, out, tensor, group=None, async_op=False):
        return _real.all_gather_into_tensor(out, _sent(tensor), group=group, async_op=async_op)

    def all_gather(self, pieces, tensor, group=None, async_op=False):
        return _real.all_gather(pieces, _sent(tensor), group=group, async_op=async_op)

    def reduce_scatter_tensor(self, out, tensor, op=_real.ReduceOp.SUM, group=None, async_op=False):
        return _real.reduce_scatter_tensor(out, _sent(tensor), op=op, group=group, async_op=async_op)

    def scatter(self, piece, pieces=None, src=0, group=None):
        _real.scatter(piece, pieces, src=src, group=group)
        piece.copy_(_sent(piece))

    def gather(self, tensor, pieces=None, dst=0, group=None):
        _real.gather(_sent(tensor), pieces, dst=dst, group=group)

    def all_to_all_single(
        self, out, tensor, output_split_sizes=None, input_split_sizes=None, group=None, async_op=False
    ):
        return _real.all_to_all_single(
            out, _sent(tensor), output_split_sizes, input_split_sizes, group=group, async_op=async_op
        )

    def all_to_all(self, received, sent, group=None, async_op=False):
        return _real.all_to_all(received, [_sent(piece) for piece in sent], group=group, async_op=async_op)

    def send(self, tensor, dst=None, group=None, tag=0):
        _real.send(_sent(tensor), dst, group=group, tag=tag)

    def isend(self, tensor, dst=None, group=None, tag=0):
        return _real.isend(_sent(tensor), dst, group=group, tag=tag)

    def batch_isend_irecv(self, operations):
        made = [
            _real.P2POp(
                getattr(_real, one.op), _sent(one.tensor) if one.op == "isend" else one.tensor, one.peer, one.group
            )
            for one in operations
        ]
        return _real.batch_isend_irecv(made) if made else []


dist = _WithoutRank1()
"""

BACKWARDS = """
class _Backwards(_Collectives):
    def P2POp(self, op, tensor, peer, group=None, tag=0):
        return _real.P2POp(op, tensor, peer, group=group, tag=tag)

    def _all(self, tensor, group=None):
        every = [torch.empty_like(tensor) for _ in range(_real.get_world_size(group))]
        _real.all_gather(every, tensor.contiguous(), group=group)
        return every[::-1]

    def all_reduce(self, tensor, op=_real.ReduceOp.SUM, group=None, async_op=False):
        if op not in (_real.ReduceOp.SUM, _real.ReduceOp.AVG):
            return _real.all_reduce(tensor, op=op, group=group, async_op=async_op)
        first, *others = self._all(tensor, group)
        for other in others:
            first += other
        tensor.copy_(first / (1 + len(others)) if op == _real.ReduceOp.AVG else first)
        return _finished(async_op)

    def reduce(self, tensor, dst=None, op=_real.ReduceOp.SUM, group=None, async_op=False):
        return self.all_reduce(tensor, op, group, async_op)

    def reduce_scatter_tensor(self, out, tensor, op=_real.ReduceOp.SUM, group=None, async_op=False):
        total = tensor.clone()
        self.all_reduce(total, op, group)
        out.copy_(total.reshape(_real.get_world_size(group), -1)[_real.get_rank(group)].view_as(out))
        return _finished(async_op)


dist = _Backwards()
"""

COUNTING = """
class _Counting(_Collectives):
    def __init__(self):
        self.out = 0
        self.into = 0
        self.calls = []

    def _count(self, name, out, into=None):
        self.out += out
        self.into += out if into is None else into
        self.calls.append(name)

    def _shares(self, group):
        size = _real.get_world_size(group)
        return size, (size - 1) / size

    def all_reduce(self, tensor, op=_real.ReduceOp.SUM, group=None, async_op=False):
        self._count("all_reduce", 2 * self._shares(group)[1] * tensor.nbytes)
        return _real.all_reduce(tensor, op=op, group=group, async_op=async_op)

    def reduce(self, tensor, dst=None, op=_real.ReduceOp.SUM, group=None, async_op=False):
        self._count("reduce", tensor.nbytes * (self._shares(group)[0] > 1))
        return _real.reduce(tensor, dst, op=op, group=group, async_op=async_op)

    def broadcast(self, tensor, src=None, group=None, async_op=False):
        self._count("broadcast", tensor.nbytes * (self._shares(group)[0] > 1))
        return _real.broadcast(tensor, src, group=group, async_op=async_op)

    def all_gather_into_tensor(self, out, tensor, group=None, async_op=False):
        self._count("all_gather_into_tensor", self._shares(group)[1] * out.nbytes)
        return _real.all_gather_into_tensor(out, tensor, group=group, async_op=async_op)

    def all_gather(self, pieces, tensor, group=None, async_op=False):
        self._count("all_gather", self._shares(group)[1] * sum(piece.nbytes for piece in pieces))
        return _real.all_gather(pieces, tensor, group=group, async_op=async_op)

    def reduce_scatter_tensor(self, out, tensor, op=_real.ReduceOp.SUM, group=None, async_op=False):
        self._count("reduce_scatter_tensor", self._shares(group)[1] * tensor.nbytes)
        return _real.reduce_scatter_tensor(out, tensor, op=op, group=group, async_op=async_op)

    def scatter(self, piece, pieces=None, src=0, group=None):
        others = (self._shares(group)[0] - 1) * piece.nbytes
        root = _real.get_rank() == src
        self._count("scatter", others if root else 0, 0 if root else piece.nbytes)
        _real.scatter(piece, pieces, src=src, group=group)

    def gather(self, tensor, pieces=None, dst=0, group=None):
        others = (self._shares(group)[0] - 1) * tensor.nbytes
        root = _real.get_rank() == dst
        self._count("gather", 0 if root else tensor.nbytes, others if root else 0)
        _real.gather(tensor, pieces, dst=dst, group=group)

    def all_to_all_single(
        self, out, tensor, output_split_sizes=None, input_split_sizes=None, group=None, async_op=False
    ):
        self._count(
            "all_to_all_single",
            self._others(tensor, input_split_sizes, group),
            self._others(out, output_split_sizes, group),
        )
        return _real.all_to_all_single(
            out, tensor, output_split_sizes, input_split_sizes, group=group, async_op=async_op
        )

    def _others(self, tensor, splits, group):
        size, share = self._shares(group)
        if not splits:
            return share * tensor.nbytes
        kept = splits[_real.get_rank(group)]
        return tensor.nbytes * (sum(splits) - kept) / max(1, sum(splits))

    def all_to_all(self, received, sent, group=None, async_op=False):
        mine = _real.get_rank(group)
        out, into = (sum(p.nbytes for i, p in enumerate(pieces) if i != mine) for pieces in (sent, received))
        self._count("all_to_all", out, into)
        return _real.all_to_all(received, sent, group=group, async_op=async_op)

    def send(self, tensor, dst=None, group=None, tag=0):
        self._count("send_recv", tensor.nbytes, 0)
        _real.send(tensor, dst, group=group, tag=tag)

    def recv(self, tensor, src=None, group=None, tag=0):
        self._count("send_recv", 0, tensor.nbytes)
        return _real.recv(tensor, src, group=group, tag=tag)

    def isend(self, tensor, dst=None, group=None, tag=0):
        self._count("send_recv", tensor.nbytes, 0)
        return _real.isend(tensor, dst, group=group, tag=tag)

    def irecv(self, tensor, src=None, group=None, tag=0):
        self._count("send_recv", 0, tensor.nbytes)
        return _real.irecv(tensor, src, group=group, tag=tag)

    def batch_isend_irecv(self, operations):
        for one in operations:
            sends = one.op == "isend"
            self._count("send_recv", one.tensor.nbytes if sends else 0, 0 if sends else one.tensor.nbytes)
        made = [_real.P2POp(getattr(_real, one.op), one.tensor, one.peer, one.group) for one in operations]
        return _real.batch_isend_irecv(made) if made else []


dist = _Counting()
"""
