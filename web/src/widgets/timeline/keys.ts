/** The keys of the timeline, for those who bind them and for the help. */

export const TIMELINE_KEYS: readonly (readonly [string, string])[] = [
  ["W, S or wheel", "zoom in, out (at the pointer)"],
  ["A, D, ← → or drag", "earlier, later"],
  ["↑ ↓ or Shift + wheel", "scroll the tracks"],
  ["F", "fit the whole run"],
  ["Z", "zoom to the selected event or area"],
  [", and .", "previous, next event on the track"],
  ["[ and ]", "to the event that this one waits for, or that waits for it"],
  ["Enter on the canvas", "pick the event in the middle"],
  ["Shift + drag", "select an area: time and tracks"],
  ["R", "select what is in view as an area"],
  ["Shift + ← →", "move the end of the area"],
  ["M", "set a mark at the pointer, or at the selected event"],
  ["Shift + M", "remove all marks"],
  ["/", "search"],
  ["N, Shift + N", "next, previous hit"],
  ["L", "list the events in view"],
  ["Click, double click on a step", "select it, zoom to it"],
  ["Alt + ↑ ↓ on a label", "move the track"],
  ["P, C, H on a label", "pin to the top, collapse, hide"],
  ["Esc", "let go of hit, area and event"],
];
