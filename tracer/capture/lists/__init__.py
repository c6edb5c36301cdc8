"""Lists and deques whose length the program decides."""
