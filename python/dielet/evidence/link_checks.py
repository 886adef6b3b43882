"""Checks of the claims about the SuperCHIPS link: computed from the geometry of the wires."""

from __future__ import annotations

from typing import Any

from dielet.evidence.checks import check
from dielet.technology import fabric

# Loss and crosstalk of a bus over a plane hold up to here at every pitch; the abstract names no frequency.
FREQUENCY = "20 GHz"


def _link(pitch: str, length: str, technology: str = "si-if-2017") -> dict[str, Any]:
    return fabric(technology, pitch=pitch, length=length, frequency="0.1 GHz", frequency_to=FREQUENCY)


@check
def link_insertion_loss(pitch: str, length: str) -> float:
    """Worst insertion loss up to 20 GHz in dB, over a plane, ports of 50 ohm."""
    return float(min(_link(pitch, length)["insertion_loss_db"]))


@check
def link_crosstalk(pitch: str, length: str) -> float:
    """Worst near-end crosstalk of one neighbour up to 20 GHz in dB, over a plane."""
    return float(max(_link(pitch, length)["near_end_crosstalk_db"]))


@check
def link_bandwidth_gain(pitch: str, baseline: str) -> float:
    """Wires per length of edge over those of the baseline: all of the gain at equal rates."""
    ours, theirs = (_link(one, "500 um")["wires_per_m"] for one in (pitch, baseline))
    return float(ours / theirs)


@check
def link_latency(pitch: str, length: str) -> float:
    """Latency of the 2017 transceiver and its wire in ps."""
    return float(_link(pitch, length)["latency_s"] * 1e12)


@check
def link_energy(pitch: str, length: str) -> float:
    """Energy per bit of the 2017 transceiver and its wire in pJ."""
    return float(_link(pitch, length)["energy_j_per_bit"] * 1e12)
