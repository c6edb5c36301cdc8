"""Whether the functions of SPIR-V's text consist of blocks that end: there are drivers that end the process where they do not.

Source: "SPIR-V Specification" 1.6, 2.4 (logical layout of a module), 3.52.17 (control-flow instructions).
"""

from __future__ import annotations

from .spirv_tokens import Statement, Token, statements_of, tokens_of
from .text_places import TextError

_ENDS = ("OpBranch", "OpBranchConditional", "OpSwitch", "OpReturn", "OpReturnValue", "OpUnreachable")
_ANYWHERE = frozenset({"OpNop", "OpLine", "OpNoLine"})


def check_blocks(text: str) -> None:
    """Raise TextError where a function or a block does not end, or an instruction stands between blocks.

    >>> check_blocks("%1 = OpFunction %2 None %3\\n%4 = OpLabel\\nOpFunctionEnd")
    Traceback (most recent call last):
        ...
    phlox.backends.gpu.given_code.text_places.TextError: line 2, column 6: the block has no end, as OpBranch, ...
      %4 = OpLabel
           ^
    """
    function: Token | None = None
    block: Token | None = None
    for statement in statements_of(text, tokens_of(text)):
        opcode = statement.opcode
        match opcode.text:
            case "OpFunction":
                if function is not None:
                    raise _unended(text, function)
                function = opcode
            case "OpFunctionEnd" | "OpLabel" if block is not None:
                raise TextError(text, block.place, f"the block has no end, as {', '.join(_ENDS)}")
            case "OpFunctionEnd":
                _require(text, statement, function, "OpFunction")
                function = None
            case "OpLabel":
                _require(text, statement, function, "OpFunction")
                block = opcode
            case name if name in _ENDS:
                _require(text, statement, block, "OpLabel")
                block = None
            case name if function is not None and name != "OpFunctionParameter" and name not in _ANYWHERE:
                _require(text, statement, block, "OpLabel")
    if function is not None:
        raise _unended(text, function)


def _require(text: str, statement: Statement, before: Token | None, name: str) -> None:
    if before is None:
        raise TextError(text, statement.opcode.place, f"{statement.opcode.text} stands behind no {name}")


def _unended(text: str, function: Token) -> TextError:
    return TextError(text, function.place, "the function has no OpFunctionEnd")
