"""Objects that stand for containers that are changed where they are elements of lists, or values of dicts: records."""


class Listed:
    """Stands for a container that the function has made, of the class `listed_as`; holds what is in it in a list."""

    __hash__ = None
    listed_as = None

    @classmethod
    def finished(cls, held):
        """The container that a call returns, of the elements of the list."""
        return cls.listed_as(held)
