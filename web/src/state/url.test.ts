import { describe, expect, it } from "vitest";

import { NO_SCOPE, changeRoute, formatRoute, formatWindow, isScoped, parseRoute, parseWindow } from "./url";

const deep = "?run=a/b&page=ops&hosts=vm0,vm1&steps=2-10&window=100..200&steady=1&by=category&sort=-self_ps";

describe("the URL", () => {
  it("round-trips", () => {
    expect(formatRoute(parseRoute(deep))).toBe(deep);
  });
  it("keeps no token", () => {
    expect(formatRoute(parseRoute(`${deep}&token=t`))).toBe(deep);
  });
  it("is short when nothing is said", () => {
    const route = parseRoute("");
    expect(route.page).toBe("overview");
    expect(formatRoute(route)).toBe("?");
    expect(isScoped(route.scope)).toBe(false);
  });
  it("escapes what would break it", () => {
    const route = changeRoute(parseRoute("?page=ops"), { view: { q: "a&b=c d%" } });
    expect(parseRoute(formatRoute(route)).view["q"]).toBe("a&b=c d%");
  });
});

describe("moving about", () => {
  it("keeps the scope and drops the view on another page", () => {
    const next = changeRoute(parseRoute(deep), { page: "roofline" });
    expect(next.scope.steps).toBe("2-10");
    expect(next.view).toEqual({});
  });
  it("drops the scope on another run", () => {
    expect(changeRoute(parseRoute(deep), { run: "other" }).scope).toEqual(NO_SCOPE);
  });
  it("removes a key that is set to nothing", () => {
    expect(changeRoute(parseRoute(deep), { view: { by: "" } }).view).toEqual({ sort: "-self_ps" });
  });
});

describe("windows", () => {
  it("parse and format", () => {
    expect(parseWindow("5..12")).toEqual([5, 12]);
    expect(parseWindow("12..5")).toBeNull();
    expect(parseWindow("x")).toBeNull();
    expect(formatWindow(-3.2, 10.1)).toBe("0..11");
  });
});
