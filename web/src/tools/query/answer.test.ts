import { expect, it } from "vitest";

import type { SqlAnswer, SqlColumn } from "../../api/types";
import { inserted, tableOfAnswer } from "./answer";

const column = (name: string, kind: string, unit: string | null = null): SqlColumn => ({ name, kind, unit, label: null, doc: null });
const answer = (columns: SqlColumn[], rows: SqlAnswer["rows"]): SqlAnswer => ({ columns, rows, is_cut: false, notes: [] });

it("shows times, sizes and counts as reports do, and keeps unknown", () => {
  const columns = [
    column("op", "text"),
    column("self_ps", "integer", "ps"),
    column("mean_ps", "real", "ps"),
    column("n", "integer"),
    column("b", "real", "B"),
  ];
  const table = tableOfAnswer(answer(columns, [["fusion", 5, 2.5, 1, null]]));
  expect(table.columns.map((one) => one.kind)).toEqual(["text", "duration_ps", "duration_ps", "int", "bytes"]);
  expect(table.rows[0]?.[4]).toBeNull();
});

it("tells columns of one name apart", () => {
  const table = tableOfAnswer(answer([column("x", "integer"), column("x", "integer")], [[1, 2]]));
  expect(table.columns.map((one) => one.id)).toEqual(["x", "x_2"]);
});

it("puts names where the cursor is", () => {
  expect(inserted("SELECT ", 7, 7, "op")).toEqual(["SELECT op", 9]);
  expect(inserted("SELECT", 6, 6, "op")).toEqual(["SELECT op", 9]);
  expect(inserted("SELECT x FROM op", 7, 8, "step")).toEqual(["SELECT step FROM op", 11]);
});
