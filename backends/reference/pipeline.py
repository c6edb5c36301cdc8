"""What the reference backend does to a program before it runs it: nothing but read it with care."""

from __future__ import annotations

from ...compile.pass_manager import Step

PIPELINE: tuple[Step, ...] = ("verify",)
