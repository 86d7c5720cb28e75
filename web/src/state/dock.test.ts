import { describe, expect, it, vi } from "vitest";

vi.stubGlobal("localStorage", { getItem: () => null, setItem: () => {} });
const { AT_FIRST, readPlace } = await import("./dock");

describe("where the details stand", () => {
  it("is as it was left", () => {
    const place = { side: "beside", open: false, below: 300, beside: 512 };
    expect(readPlace(JSON.stringify(place))).toEqual(place);
  });
  it("is as at first where nothing, or nonsense, was kept", () => {
    expect(readPlace(null)).toEqual(AT_FIRST);
    expect(readPlace("{")).toEqual(AT_FIRST);
    expect(readPlace("7")).toEqual(AT_FIRST);
    expect(readPlace('{"side":"above","below":3,"beside":"wide"}')).toEqual(AT_FIRST);
  });
});
