// SPDX-License-Identifier: GPL-2.0-or-later
//
// The style sheet of `scohort report`: light and dark, screen and paper.
#pragma once

#include <string_view>

namespace cohort {

inline constexpr std::string_view report_style = R"css(
:root {
  --page: #f4f6f8; --card: #ffffff; --ink: #1d2733; --soft: #5c6b7a; --line: #dde3ea;
  --old: #c9d3dd; --new: #5fb37f; --wait: #f0bf4c; --build: #2f7fc1; --boot: #86c1ec;
  --fail: #d24a5a; --job: #4b3d8f; --grid: rgba(29, 39, 51, .09); --limit: #d24a5a;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #10151b; --card: #181f27; --ink: #e4eaf0; --soft: #93a3b3; --line: #2a343f;
    --old: #3d4956; --new: #3d9a63; --wait: #d9a630; --build: #3f8fd6; --boot: #2b5f8c;
    --fail: #e0566a; --job: #d9cffb; --grid: rgba(228, 234, 240, .08); --limit: #e0566a;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
main { max-width: 1280px; margin: 0 auto; padding: 28px 24px 48px; }
h1 { font-size: 27px; line-height: 1.2; margin: 0; letter-spacing: -.01em; }
h2 { font-size: 16px; margin: 0 0 12px; }
header p { margin: 6px 0 0; color: var(--soft); }
.pill { display: inline-block; vertical-align: middle; margin-left: 12px; padding: 2px 12px;
  border-radius: 99px; font-size: 13px; font-weight: 600; color: #fff; background: var(--build); }
.pill.done { background: #2f8f57; } .pill.bad { background: var(--fail); }
.pill.paused { background: #9a7414; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 12px;
  padding: 18px 20px; margin-top: 18px; }
.tiles { display: grid; gap: 14px; margin-top: 20px;
  grid-template-columns: repeat(auto-fit, minmax(140px, 1fr)); }
.tile { background: var(--card); border: 1px solid var(--line); border-radius: 12px; padding: 13px 16px; }
.tile b { display: block; font-size: 22px; line-height: 1.35; white-space: nowrap; font-variant-numeric: tabular-nums; }
.tile span { color: var(--soft); font-size: 13px; }
.tile.bad b { color: var(--fail); }
.bar { display: flex; height: 12px; border-radius: 6px; overflow: hidden; background: var(--old);
  margin-top: 18px; }
.bar i { display: block; }
.alarm { border-left: 5px solid var(--fail); }
.legend { display: flex; flex-wrap: wrap; gap: 6px 18px; margin: 0 0 14px; color: var(--soft); font-size: 13px; }
.legend i { display: inline-block; width: 20px; height: 10px; border-radius: 3px; margin-right: 7px; }
.legend i.job { height: 4px; vertical-align: 3px; }
.plot { position: relative; --name: 120px; --what: 96px; }
.grid { position: absolute; top: 0; bottom: 0; left: var(--name); right: var(--what); pointer-events: none; }
.grid i { position: absolute; top: 0; bottom: 0; width: 1px; background: var(--grid); }
.row { display: grid; grid-template-columns: var(--name) 1fr var(--what); align-items: center; height: 22px; }
.row:hover { background: var(--grid); }
.row > span { font-size: 13px; white-space: nowrap; overflow: hidden; text-overflow: ellipsis; padding-right: 10px; }
.row > span:last-child { padding: 0 0 0 10px; color: var(--soft); text-align: right; }
.row.bad > span { color: var(--fail); font-weight: 600; }
.track { position: relative; height: 14px; border-radius: 3px; overflow: hidden; background: var(--old); }
.track i { position: absolute; top: 0; bottom: 0; }
.track i.job { top: auto; bottom: 1px; height: 4px; border-radius: 2px; background: var(--job); opacity: .8; }
.dense .row[data-node] { height: 11px; }
.dense [data-node] .track { height: 9px; }
.dense .row[data-node] > span { font-size: 9px; line-height: 11px; }
.dense .track i.job { height: 3px; bottom: 0; }
.old { background: var(--old); } .new { background: var(--new); } .wait { background: var(--wait); }
.build { background: var(--build); } .fail { background: var(--fail); } .job { background: var(--job); }
.boot { background: repeating-linear-gradient(135deg, var(--boot) 0 5px, var(--build) 5px 7px); }
.axis { position: sticky; top: 0; z-index: 1; background: var(--card); height: 26px; }
.axis .track { background: none; overflow: visible; height: 20px; }
.axis em { position: absolute; transform: translateX(-50%); font: 12px system-ui, sans-serif; color: var(--soft);
  white-space: nowrap; }
.chart { height: 66px; margin-bottom: 8px; }
.chart .track { height: 60px; background: none; overflow: visible; border-radius: 0; border-bottom: 1px solid var(--line); }
.chart svg { position: absolute; inset: 0; width: 100%; height: 100%; }
.chart > span { white-space: normal; color: var(--soft); line-height: 1.25; }
.chart > span:last-child { text-align: left; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 14px; }
th { text-align: left; color: var(--soft); font-weight: 500; }
th, td { padding: 6px 14px 6px 0; border-bottom: 1px solid var(--line); vertical-align: top; }
tr:last-child td { border-bottom: 0; }
td.nr, th.nr { text-align: right; font-variant-numeric: tabular-nums; }
code { font: 12.5px ui-monospace, "DejaVu Sans Mono", monospace; overflow-wrap: anywhere; }
summary { cursor: pointer; font-weight: 600; }
details[open] summary { margin-bottom: 12px; }
footer { color: var(--soft); font-size: 13px; margin-top: 22px; }
@media (max-width: 700px) { .plot { --name: 76px; --what: 60px; } main { padding: 18px 12px; } }
@media print { body { background: #fff; } .card, .tile { break-inside: avoid; } .axis { position: static; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; } }
)css";

}  // namespace cohort
