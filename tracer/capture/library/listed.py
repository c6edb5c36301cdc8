"""Objects that stand for containers that are changed where they are elements of lists, or values of dicts: records."""


class Listed:
    """Stands for a container that the function has made, of the class `listed_as`; holds what is in it in a list."""

    __hash__ = None
    listed_as = None

    @classmethod
    def empty(cls):
        """The container that a call returns, before it holds anything."""
        return cls.listed_as()

    @staticmethod
    def fill(made, held):
        """Put the elements of the list into such a container."""
        made.update(held)
