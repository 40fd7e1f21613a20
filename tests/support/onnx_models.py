"""Models in ONNX format."""

from __future__ import annotations

import onnx


def onnx_sum() -> bytes:
    """Return an ONNX model with the sum of the features, and their values as a list."""
    helper, floats = onnx.helper, onnx.TensorProto.FLOAT
    nodes = [
        helper.make_node("ReduceSum", ["x", "axes"], ["total"], keepdims=1),
        helper.make_node("Identity", ["x"], ["parts"]),
    ]
    graph = helper.make_graph(
        nodes,
        "sum",
        [helper.make_tensor_value_info("x", floats, [None, 2])],
        [
            helper.make_tensor_value_info("total", floats, [None, 1]),
            helper.make_tensor_value_info("parts", floats, [None, 2]),
        ],
        [helper.make_tensor("axes", onnx.TensorProto.INT64, [1], [1])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    return bytes(model.SerializeToString())
