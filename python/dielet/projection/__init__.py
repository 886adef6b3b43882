"""Time, energy and money to the target: data parallelism alone against hybrid."""
