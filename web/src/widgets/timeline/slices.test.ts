import { expect, it } from "vitest";

import { fitText, keepEnds, withoutHost } from "./slices";

it("keeps both ends of a long name", () => {
  expect(keepEnds("gke-v6e-32-worker-0/TPU:0", 16)).toBe("gke-v…er-0/TPU:0");
  expect(keepEnds("TPU:0", 16)).toBe("TPU:0");
});

it("cuts text to its room", () => {
  expect(fitText("fusion.1", 100, 6)).toBe("fusion.1");
  expect(fitText("fusion.123", 42, 6)).toBe("fusion…");
  expect(fitText("fusion.1", 12, 6)).toBe("");
});

it("leaves a host out of its own devices' names", () => {
  expect(withoutHost("vm-0/TPU:1", "vm-0")).toBe("TPU:1");
  expect(withoutHost("vm-0/TPU:1", "")).toBe("vm-0/TPU:1");
});
