import { beforeEach, describe, expect, it, vi } from "vitest";

/** A browser's history, as far as `route` uses it: entries with a state and an address, and steps back that come later. */
class Made {
  entries: { state: unknown; url: string }[] = [{ state: null, url: "?page=ops" }];
  at = 0;
  private readonly heard: (() => void)[] = [];
  get state(): unknown {
    return this.entries[this.at]?.state ?? null;
  }
  pushState(state: unknown, _: string, url: string): void {
    this.entries = [...this.entries.slice(0, this.at + 1), { state, url }];
    this.at += 1;
  }
  replaceState(state: unknown, _: string, url: string): void {
    this.entries[this.at] = { state, url };
  }
  back(): void {
    queueMicrotask(() => this.go(-1));
  }
  go(by: number): void {
    this.at = Math.max(0, Math.min(this.entries.length - 1, this.at + by));
    this.heard.forEach((hear) => hear());
  }
  hear(hear: () => void): void {
    this.heard.push(hear);
  }
  get url(): string {
    return this.entries[this.at]?.url ?? "";
  }
}

let browser = new Made();
let route: typeof import("./route");

beforeEach(async () => {
  browser = new Made();
  const own = browser;
  vi.resetModules();
  vi.stubGlobal("history", own);
  vi.stubGlobal("location", {
    get search() {
      return own.url;
    },
    href: "http://127.0.0.1/",
  });
  vi.stubGlobal("addEventListener", (name: string, hear: () => void) => name === "popstate" && own.hear(hear));
  route = await import("./route");
});

const settled = (): Promise<void> => new Promise((done) => setTimeout(done));

describe("a selection", () => {
  it("is a step that Back takes back", () => {
    route.select("sel", "fusion.1");
    expect(browser.entries.map((entry) => entry.url)).toEqual(["?page=ops", "?page=ops&sel=fusion.1"]);
    browser.go(-1);
    expect(route.view.value).toEqual({});
    expect(route.page.value).toBe("ops");
    expect(route.wentTo.value).toBe(1);
  });
  it("is no further step while something is selected", () => {
    route.select("sel", "fusion.1");
    route.select("sel", "fusion.2");
    expect(browser.entries).toHaveLength(2);
    expect(browser.url).toBe("?page=ops&sel=fusion.2");
  });
  it("takes its step along when it goes", async () => {
    route.select("sel", "fusion.1");
    route.select("sel", "");
    expect(route.view.value).toEqual({});
    // What happens until the browser is back belongs to the entry that it comes to.
    route.go({ view: { q: "dot" } }, "replace");
    await settled();
    expect(browser.at).toBe(0);
    expect(browser.url).toBe("?page=ops&q=dot");
    expect(route.view.value).toEqual({ q: "dot" });
    expect(route.wentTo.value).toBe(0);
  });
  it("takes it along also where the address never named it", async () => {
    route.select("ev", "1,2");
    route.goSelected({ view: { ev: "" } }, true, true);
    expect(browser.entries).toHaveLength(2);
    route.goSelected({ view: { ev: "" } }, true, false);
    await settled();
    expect(browser.at).toBe(0);
  });
  it("of a link has no step of its own, and going is none either", async () => {
    browser.entries = [{ state: null, url: "?page=ops&sel=fusion.1" }];
    vi.resetModules();
    route = await import("./route");
    route.select("sel", "");
    await settled();
    expect(browser.entries).toHaveLength(1);
    expect(browser.url).toBe("?page=ops");
  });
  it("stays a step while filters change beside it", () => {
    route.select("sel", "fusion.1");
    route.go({ view: { q: "dot" } }, "replace");
    expect(browser.entries).toHaveLength(2);
    browser.go(-1);
    expect(route.view.value).toEqual({});
  });
});
