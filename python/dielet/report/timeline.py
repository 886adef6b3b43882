"""The timeline of a placement: one row per device and link, as trace events, as HTML, in the terminal."""

from __future__ import annotations

import html as markup
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dielet.placement import Placement

Span = tuple[str, str, float, float, bool]

_MICROSECONDS = 1e6

_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>{title}</title>
<style>
body {{ font: 14px system-ui, sans-serif; margin: 2em; background: #fff; color: #222; }}
.row {{ display: flex; align-items: center; margin: 3px 0; }}
.row b {{ width: 7em; font-weight: normal; text-align: right; padding-right: 1em; }}
.lane {{ position: relative; flex: 1; height: 24px; background: #f2f2f2; }}
.lane i {{ position: absolute; top: 2px; bottom: 2px; min-width: 1px; background: #7fa8d1; }}
.lane i.backward {{ background: #c9a66b; }}
.lane i.transfer {{ background: #8fbf8f; }}
.lane i.critical {{ box-shadow: inset 0 -4px 0 #c0392b; }}
</style>
<h1>{title}</h1>
<p>{summary}</p>
{rows}
<p>Blue forward, brown backward, green transfers; red underline: one critical path. Point at a task for its name.</p>
</html>
"""


def lanes(placement: Placement) -> list[tuple[str, list[Span]]]:
    """Spans ``(name, class, start, finish, critical)`` of each device, then of each link that is used."""
    rows: dict[str, list[Span]] = {f"device {d}": [] for d in range(placement.devices)}
    for op in placement.ops:
        rows[f"device {op.device}"].append((op.id, op.phase, op.start_s, op.finish_s, op.critical))
    for t in sorted(placement.transfers, key=lambda t: (t.source, t.destination)):
        span = (t.tensor, "transfer", t.start_s, t.finish_s, t.critical)
        rows.setdefault(f"link {t.source}-{t.destination}", []).append(span)
    return [(name, sorted(spans, key=lambda span: (span[2], span[3]))) for name, spans in rows.items()]


def trace(placement: Placement) -> dict[str, Any]:
    """Complete events (``ph: X``) in microseconds, a thread per lane."""
    events: list[dict[str, Any]] = []
    for thread, (lane, spans) in enumerate(lanes(placement)):
        events.append({"ph": "M", "pid": 0, "tid": thread, "name": "thread_name", "args": {"name": lane}})
        for name, kind, start, finish, critical in spans:
            times = {"ts": start * _MICROSECONDS, "dur": (finish - start) * _MICROSECONDS}
            args = {"critical": critical}
            events.append({"ph": "X", "pid": 0, "tid": thread, "name": name, "cat": kind, "args": args, **times})
    return {"traceEvents": events, "displayTimeUnit": "ms"}


def html(placement: Placement) -> str:
    """A page that needs nothing else."""
    title = markup.escape(f"{placement.status}: {len(placement.ops)} ops on {placement.devices} devices")
    total = placement.makespan_s or 1.0
    rows = "\n".join(_row(name, spans, total) for name, spans in lanes(placement))
    return _PAGE.format(title=title, summary=markup.escape(repr(placement)), rows=rows)


def _row(name: str, spans: list[Span], total: float) -> str:
    bars = "".join(_bar(span, total) for span in spans)
    return f'<div class="row"><b>{name}</b><div class="lane">{bars}</div></div>'


def _bar(span: Span, total: float) -> str:
    name, kind, start, finish, critical = span
    left, width = 100 * start / total, 100 * (finish - start) / total
    text = markup.escape(f"{name} ({kind}) {start:.6g} to {finish:.6g}", quote=True)
    css = f"{kind} critical" if critical else kind
    return f'<i class="{css}" style="left:{left:.4f}%;width:{width:.4f}%" title="{text}"></i>'


def bars(placement: Placement, width: int) -> list[tuple[str, str]]:
    """A line of ``width`` cells per lane: full where it is busy for most of the cell."""
    total = placement.makespan_s or 1.0
    return [(name, _cells(spans, total, width)) for name, spans in lanes(placement)]


def _cells(spans: list[Span], total: float, width: int) -> str:
    busy = [0.0] * width
    for _, _, start, finish, _ in spans:
        first, last = start / total * width, finish / total * width
        for cell in range(int(first), min(int(last) + 1, width)):
            busy[cell] += max(0.0, min(last, cell + 1) - max(first, cell))
    return "".join(" ░▒▓█"[min(4, round(share * 4))] for share in busy)
