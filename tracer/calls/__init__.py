"""From a call of a jitted function to its compiled code, and back."""
