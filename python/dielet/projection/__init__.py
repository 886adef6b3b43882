"""Time, energy and money to the target: T x S x E, data parallelism alone against hybrid."""

from dielet.projection.answer import Answer, Choice
from dielet.projection.plan import plan
from dielet.projection.price import Priced, price

__all__ = ["Answer", "Choice", "Priced", "plan", "price"]
