"""Arrays on devices as users have them: NumPy's protocols, exchange with other libraries, and where arrays go."""
