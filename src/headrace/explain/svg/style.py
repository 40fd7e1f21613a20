"""The style sheet of pictures: classes without variables, which not every SVG viewer supports."""

STYLE = """
text { font-family: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; \
font-variant-numeric: tabular-nums; fill: #1f2933; }
.page { fill: #ffffff; }
.title { font-weight: 600; }
.declared, .faint { fill: #66727f; }
.line { font-weight: 500; }
.grid { stroke: #e6eaee; stroke-width: 1; fill: none; }
.rule { stroke: #d5dbe1; stroke-width: 1; fill: none; }
.window { fill: #5b7fa6; fill-opacity: 0.10; }
.watermark { stroke: #7c3aed; stroke-width: 2; fill: none; stroke-linejoin: round; }
text.watermark { fill: #6d28d9; stroke: none; }
.row { fill: #1f2933; }
.right-row { fill: #2563eb; }
.right-label { fill: #1e40af; }
.row-label, .beside { paint-order: stroke; stroke: #ffffff; stroke-width: 3; stroke-linejoin: round; }
.refused-row { fill: #ffffff; stroke: #dc2626; stroke-width: 1.2; }
.refused { stroke: #dc2626; stroke-width: 1.6; fill: none; }
.refused-label { fill: #b91c1c; }
.pane { stroke-width: 1.3; }
.pane-label { font-weight: 500; }
.early { fill: #dbeafe; stroke: #2563eb; }
.on_time, .joined { fill: #d6f2e0; stroke: #15803d; }
.late, .unmatched { fill: #fde7cc; stroke: #c2620a; }
.early-label { fill: #1e3a8a; }
.on_time-label, .joined-label { fill: #14532d; }
.late-label, .unmatched-label { fill: #7c3a00; }
.retraction { stroke-dasharray: 3 2.5; fill: #ffffff; }
.struck { text-decoration: line-through; }
.strike { stroke: #15803d; stroke-width: 1.3; }
.state { fill: #ebf4ff; stroke: #2b6cb0; stroke-width: 1.5; }
.state-name { font-weight: 600; }
.condition { font-family: ui-monospace, Menlo, Consolas, monospace; fill: #52606d; white-space: pre; }
.any-row { font-style: italic; fill: #52606d; }
.edge { stroke: #52606d; stroke-width: 1.3; fill: none; }
.edge-label { fill: #2b6cb0; }
.arrow { fill: #52606d; }
.terminal { fill: #1f2933; }
.ring { fill: none; stroke: #1f2933; stroke-width: 1.3; }
@media (prefers-color-scheme: dark) {
text { fill: #e4e9ee; }
.page { fill: #161b21; }
.declared, .faint { fill: #98a4b1; }
.grid { stroke: #262d36; }
.rule { stroke: #343d48; }
.window { fill: #86a9d1; fill-opacity: 0.13; }
.watermark { stroke: #a78bfa; }
text.watermark { fill: #c4b5fd; }
.row { fill: #e4e9ee; }
.right-row { fill: #60a5fa; }
.right-label { fill: #93c5fd; }
.row-label, .beside { stroke: #161b21; }
.refused-row { fill: #161b21; stroke: #f87171; }
.refused { stroke: #f87171; }
.refused-label { fill: #fca5a5; }
.early { fill: #172d55; stroke: #60a5fa; }
.on_time, .joined { fill: #123524; stroke: #4ade80; }
.late, .unmatched { fill: #45290b; stroke: #fb923c; }
.early-label { fill: #bfdbfe; }
.on_time-label, .joined-label { fill: #bbf7d0; }
.late-label, .unmatched-label { fill: #fed7aa; }
.retraction { fill: #161b21; }
.strike { stroke: #4ade80; }
.state { fill: #16263a; stroke: #63a4e8; }
.condition, .any-row { fill: #98a4b1; }
.edge { stroke: #98a4b1; }
.edge-label { fill: #8ec2f5; }
.arrow { fill: #98a4b1; }
.terminal { fill: #e4e9ee; }
.ring { stroke: #e4e9ee; }
}
"""
