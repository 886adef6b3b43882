"""Epochs or samples to the target as a function of the global batch."""

from .curve import Curve, Dataset, Point
from .hyperbola import Hyperbola, fit_hyperbola
from .load import curve_names, load_curve

__all__ = ["Curve", "Dataset", "Hyperbola", "Point", "curve_names", "fit_hyperbola", "load_curve"]
