"""Answers for people: terminal, HTML, traces."""
