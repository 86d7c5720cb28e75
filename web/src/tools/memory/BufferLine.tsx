/** One buffer in a line at the top of the page: what it is, how large, and the line of the program that makes it. The one that was
 * picked, else the largest. */

import { columnIndex, numberAt, textAt } from "../../api/read";
import type { Table } from "../../api/types";
import { formatBytes, formatShare } from "../../base/format";
import { hrefOf, view } from "../../state/route";
import { bufferRow, bytesColumn, instructionOf } from "./parts";
import { placeOf } from "../../base/place";

export function BufferLine({ table, module }: { readonly table: Table; readonly module: string }) {
  const asked = bufferRow(table, view.value["buffer"] ?? "");
  const at = asked >= 0 ? asked : largestRow(table);
  const row = table.rows[at];
  if (row === undefined) return null;
  const text = (...ids: string[]): string => textAt(row, columnIndex(table, ...ids)) ?? "";
  const name = text("instruction", "name", "buffer");
  const [bytes, share] = [numberAt(row, bytesColumn(table)), numberAt(row, columnIndex(table, "share"))];
  const place = placeOf(text("source", "source_line"));
  return (
    <p class="buffer-line">
      <span class="sub">{asked >= 0 ? "Buffer" : "Largest buffer"}</span>
      <a href={hrefOf({ page: "hlo", view: { module, node: instructionOf(name) } })} data-nav="hlo" data-tip="The graph around it">
        {name}
      </a>
      {bytes !== null && <strong>{formatBytes(bytes)}</strong>}
      {share !== null && <span>{`${formatShare(share)} of the peak`}</span>}
      <span>{text("shape")}</span>
      {place === null ? (
        <span class="unknown">source line unknown</span>
      ) : (
        <a
          href={hrefOf({ page: "source", view: { at: place.file, line: place.line } })}
          data-nav="source"
          data-tip="Its line of the program"
        >
          {place.line === "" ? place.file : `${place.file}:${place.line}`}
        </a>
      )}
    </p>
  );
}

function largestRow(table: Table): number {
  const bytes = bytesColumn(table);
  return table.rows.reduce((best, row, i) => ((numberAt(row, bytes) ?? -1) > (numberAt(table.rows[best], bytes) ?? -1) ? i : best), 0);
}
