import { describe, expect, it } from "vitest";

import { REST_MS, ViewHistory } from "./history";

const whole = { start: 0, end: 1000 };
const half = { start: 0, end: 500 };
const tenth = { start: 100, end: 200 };

describe("the views that there were", () => {
  it("takes a zoom back and gives it again", () => {
    const history = new ViewHistory();
    history.note(whole, half, "jump", 0);
    history.note(half, tenth, "jump", 1);
    expect(history.undo(tenth)).toEqual(half);
    expect(history.undo(half)).toEqual(whole);
    expect(history.undo(whole)).toBeNull();
    expect(history.redo(whole)).toEqual(half);
    expect(history.redo(half)).toEqual(tenth);
    expect(history.redo(tenth)).toBeNull();
  });
  it("counts a zoom by hand once, until the hand rests", () => {
    const history = new ViewHistory();
    history.note(whole, half, "glide", 0);
    history.note(half, tenth, "glide", 20);
    expect(history.undo(tenth)).toEqual(whole);
    history.note(whole, half, "glide", 2000);
    history.note(half, tenth, "glide", 2000 + REST_MS);
    expect(history.undo(tenth)).toEqual(half);
  });
  it("keeps no move sideways by hand, but one at once", () => {
    const history = new ViewHistory();
    const beside = { start: 200, end: 300 };
    history.note(tenth, beside, "glide", 0);
    expect(history.undo(beside)).toBeNull();
    history.note(tenth, beside, "jump", 0);
    expect(history.undo(beside)).toEqual(tenth);
  });
  it("does not take a pan of the hand into the zoom that follows it", () => {
    const history = new ViewHistory();
    const beside = { start: 200, end: 300 };
    history.note(tenth, beside, "glide", 0);
    history.note(beside, half, "glide", 20);
    expect(history.undo(half)).toEqual(beside);
  });
  it("forgets what was taken back once there is a new zoom", () => {
    const history = new ViewHistory();
    history.note(whole, half, "jump", 0);
    history.undo(half);
    history.note(whole, tenth, "jump", 0);
    expect(history.redo(tenth)).toBeNull();
    expect(history.undo(tenth)).toEqual(whole);
  });
  it("keeps no more than it should", () => {
    const history = new ViewHistory();
    for (let i = 0; i < 300; i += 1) history.note({ start: 0, end: 1000 - i }, { start: 0, end: 999 - i }, "jump", i);
    let steps = 0;
    while (history.undo(half) !== null) steps += 1;
    expect(steps).toBe(100);
  });
});
