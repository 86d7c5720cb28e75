import { isNumeric } from "../../api/read";
import type { Tree } from "../../api/types";
import { formatCell } from "../../base/format";
import { go, hrefOf } from "../../state/route";
import { OpSummary } from "../../widgets/op/OpSummary";
import { Panel } from "../../widgets/Panel";
import type { FlatNode } from "../../widgets/tree/flat";
import { leads, opOf } from "./links";

export interface NodePanelProps {
  readonly tree: Tree;
  readonly all: readonly FlatNode[];
  readonly index: number;
  readonly pages: ReadonlySet<string>;
  readonly onClose: () => void;
  /** Fills the picture with a node; null where there is none to fill. */
  readonly onZoom: ((index: number) => void) | null;
}

/** All that is known of one node, and where it leads. */
export function NodePanel({ tree, all, index, pages, onClose, onZoom }: NodePanelProps) {
  const one = all[index];
  if (one === undefined) return null;
  const links = leads(tree.columns, one.node, pages);
  const op = opOf(tree.columns, one.node);
  const ways = links.length > 0 && (
    <p class="leads">
      {links.map((lead) => (
        <a
          key={lead.label}
          href={hrefOf(lead.to)}
          onClick={(event) => {
            if (event.ctrlKey || event.metaKey || event.shiftKey) return;
            event.preventDefault();
            go(lead.to);
          }}
        >
          {lead.label}
        </a>
      ))}
    </p>
  );
  return (
    <Panel
      title={one.node.label}
      class="details"
      actions={
        <>
          {onZoom !== null && one.node.children.length > 0 && (
            <button type="button" onClick={() => onZoom(index)}>
              Zoom
            </button>
          )}
          <button type="button" class="quiet" onClick={onClose} aria-label="Close details">
            Close
          </button>
        </>
      }
    >
      {op === null ? ways : <OpSummary key={`${op.name} ${op.module}`} op={op} otherwise={ways} />}
      <dl class="pairs">
        <div>
          <dt>Path</dt>
          <dd>{one.path}</dd>
        </div>
        {tree.columns.map((column, i) => {
          const cell = one.node.values[i] ?? null;
          // Words are about ops; a group that has none lacks nothing.
          if (cell === null && !isNumeric(column)) return null;
          return (
            <div key={column.id}>
              <dt title={column.doc}>{column.label}</dt>
              <dd class={cell === null ? "unknown" : ""}>{formatCell(cell, column.kind, column.unit)}</dd>
              {column.doc !== undefined && column.doc !== "" && <dd class="doc">{column.doc}</dd>}
            </div>
          );
        })}
      </dl>
    </Panel>
  );
}
