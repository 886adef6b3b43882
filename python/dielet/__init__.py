"""How to split training of a model over devices, and what time, energy and money it takes."""
