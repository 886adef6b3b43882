"""Devices and the systems built of them."""
