import { describe, expect, it } from "vitest";

import { frontTab } from "./tabs";

const event = { id: "event", label: "Event", about: "1,2" };
const area = { id: "area", label: "Area", about: "5..9" };
const list = { id: "list", label: "Events in view", about: "" };

describe("the panel in front", () => {
  it("is the one that has come", () => {
    expect(frontTab([], [event], "", false)).toBe("event");
    expect(frontTab([event], [event, area], "event", false)).toBe("area");
    expect(frontTab([event], [event, list], "event", false)).toBe("list");
  });
  it("is the one whose subject is another now", () => {
    expect(frontTab([event, area], [{ ...event, about: "1,3" }, area], "area", false)).toBe("event");
    expect(frontTab([event, area], [{ ...event, about: "1,3", quiet: true }, area], "area", false)).toBe("area");
  });
  it("stays where the choice was made inside of it", () => {
    expect(frontTab([list], [event, list], "list", true)).toBe("list");
    expect(frontTab([list], [event], "list", true)).toBe("event");
  });
  it("is another once it is gone, and none where there is none", () => {
    expect(frontTab([event, area], [event], "area", false)).toBe("event");
    expect(frontTab([event], [], "event", false)).toBe("");
  });
  it("stays otherwise", () => {
    expect(frontTab([event, area], [event, area], "area", false)).toBe("area");
  });
});
