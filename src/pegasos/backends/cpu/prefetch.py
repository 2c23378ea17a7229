"""Asking the processor for memory ahead of its use: rows are drawn at random, so it cannot guess the next one."""

from pegasos.utils.collection import collection_paused

with collection_paused():
    from llvmlite import ir
    from numba import config, types
    from numba.core import cgutils
    from numba.extending import intrinsic

LINE = 64  # bytes of a cache line


@intrinsic
def _prefetch(context, array, place):
    """LLVM's prefetch of array[place], for reading, into all caches."""

    def generate(context, builder, signature, arguments):
        start = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        address = builder.bitcast(builder.gep(start, [arguments[1]]), cgutils.voidptr_t)
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, number, number, number])
        ask = builder.module.declare_intrinsic("llvm.prefetch", [cgutils.voidptr_t], kind)
        builder.call(ask, [address, number(0), number(3), number(1)])
        return context.get_dummy_value()

    return types.void(array, types.intp), generate


def _nothing(array, place):
    """What interpreted loops do instead."""


prefetch = _nothing if config.DISABLE_JIT else _prefetch
