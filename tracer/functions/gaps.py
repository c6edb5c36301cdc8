"""What cannot be traced, and what each function waits for."""

from __future__ import annotations

import numpy as np

from ..recording.function_tables import missing

missing("arrays of objects or dates", (np.isnat,))
