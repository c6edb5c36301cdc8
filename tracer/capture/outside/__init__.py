"""Objects from outside as the traced function sees them, and all that one trace reads and sets there."""
