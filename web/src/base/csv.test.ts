import { expect, it } from "vitest";

import { toCsv } from "./csv";

it("quotes what needs quoting and leaves the unknown empty", () => {
  expect(
    toCsv(
      ["op", "self_ps"],
      [
        ["a,b", 1],
        ['say "x"', null],
        ["two\nlines", true],
      ],
    ),
  ).toBe('op,self_ps\r\n"a,b",1\r\n"say ""x""",\r\n"two\nlines",true\r\n');
});

it("does not hand a formula to a spreadsheet, but leaves numbers alone", () => {
  expect(toCsv(["v"], [["=SUM(A1)"], [-5]])).toBe("v\r\n'=SUM(A1)\r\n-5\r\n");
});
