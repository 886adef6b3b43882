"""What goes wrong, by what the user can mend.

Every error that dielet raises on purpose is a `DieletError` whose text is one line: what, where, value,
remedy.
"""


class DieletError(Exception):
    """Any fault in what dielet was given."""


class ModelError(DieletError, ValueError):
    """A model or task graph that cannot be used."""


class SpecError(DieletError, ValueError):
    """A device, system, fabric, technology or curve, or a quantity in it, that cannot be used."""


class PlanError(DieletError, ValueError):
    """A plan, device count or search option that cannot be used."""


class FileError(DieletError, OSError):
    """A file that cannot be read or understood."""
