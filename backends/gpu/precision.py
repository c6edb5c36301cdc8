"""What a program says of the precision of its products."""

from __future__ import annotations

from ...hlo import Instruction


def wants_precision(product: Instruction) -> bool:
    """Whether it asks for more than what is usual for the types of its operands."""
    return bool({"high", "highest"} & set(product.annotations.get("operand_precision", "").strip("{}").split(",")))
