/** What lay in what in an area, as a flame graph; of one name, what it lay in and what lay in it. */

import { useEffect, useMemo, useState } from "preact/hooks";

import { getStacks } from "../../api/timeline";
import type { StackNode } from "../../api/timeline";
import { hashName, stem } from "../../base/colour";
import { formatDuration, formatInt } from "../../base/format";
import { useResource } from "../../state/resource";
import { Icicle } from "../../widgets/chart/Icicle";
import type { Branch } from "../../widgets/chart/icicle";
import { branchAt } from "../../widgets/chart/icicle";
import { Loaded } from "../../widgets/States";
import { SLICE_COLOURS } from "../../widgets/timeline/classes";
import type { Area } from "../../widgets/timeline/scene";
import { treeOf } from "./stacks";

export interface StacksPartProps {
  readonly run: string;
  readonly area: Area;
  readonly tracks: readonly number[];
  /** The name whose surroundings are shown; empty for all of the area. */
  readonly name: string;
  readonly onName: (name: string) => void;
  /** Marks the events of a name on the canvas. */
  readonly onFind: (name: string) => void;
}

const WHOLE = "all tracks of the area";

function colourOf(branch: Branch): string {
  return `var(--slice-${hashName(stem(branch.name)) % SLICE_COLOURS})`;
}

export function StacksPart({ run, area, tracks, name, onName, onFind }: StacksPartProps) {
  const key = `stacks ${run} ${area.start} ${area.end} ${tracks.join(",")} ${name}`;
  const stacks = useResource(key, `stacks ${run}`, (signal) => getStacks(run, area.start, area.end, tracks, name, signal));
  return (
    <div class="tl-stacks">
      {name !== "" && (
        <p class="tl-stacks-name">
          <button type="button" class="quiet" onClick={() => onName("")}>
            ← Whole area
          </button>
          <strong>{name}</strong>
          <button type="button" class="quiet" onClick={() => onFind(name)}>
            Mark on the canvas
          </button>
        </p>
      )}
      <Loaded from={stacks} what="the stacks">
        {(data) => (
          <>
            {name === "" ? (
              <Flame label="Flame graph" nodes={data.inside} name={WHOLE} whole={data.total_ps} onName={onName} />
            ) : (
              <>
                <h3>What it ran in</h3>
                <Flame label={`What ${name} ran in`} nodes={data.around} name={name} whole={data.total_ps} onName={onName} />
                <h3>What ran in it</h3>
                <Flame label={`What ran in ${name}`} nodes={data.inside} name={name} whole={data.total_ps} onName={onName} />
              </>
            )}
            <p class="tl-note">
              {[
                "Width is time, as drawn; the part of a box without children is its own time.",
                data.rows > data.inside.length + data.around.length
                  ? `${formatInt(data.rows - data.inside.length - data.around.length)} smaller stacks are left out.`
                  : "",
                data.left_out > 0 ? `${formatInt(data.left_out)} tracks of asynchronous work have no stacks.` : "",
              ]
                .filter(Boolean)
                .join(" ")}
            </p>
          </>
        )}
      </Loaded>
    </div>
  );
}

interface FlameProps {
  readonly label: string;
  readonly nodes: readonly StackNode[];
  readonly name: string;
  readonly whole: number;
  readonly onName: (name: string) => void;
}

/** A click opens a part; a part that is open, or has no parts, leads to its name. */
function Flame({ label, nodes, name, whole, onName }: FlameProps) {
  const tree = useMemo(() => treeOf(nodes, name, whole), [nodes, name, whole]);
  const [focus, setFocus] = useState<readonly string[]>([]);
  useEffect(() => setFocus([]), [tree]);
  if (nodes.length === 0) return <p class="table-empty">No event is in the area.</p>;
  const open = branchAt(tree, focus);
  return (
    <>
      <Icicle
        label={label}
        tree={tree}
        format={(ps) => formatDuration(ps)}
        colourOf={colourOf}
        focus={focus}
        onFocus={setFocus}
        selected={null}
        onSelect={(leaf) => onName(nodes[leaf]?.name ?? "")}
      />
      {open !== tree && (
        <p class="tl-stacks-open">
          <button type="button" class="quiet" onClick={() => onName(open.name)}>
            {`Around ${open.name}`}
          </button>
          <button type="button" class="quiet" onClick={() => setFocus([])}>
            Close the part
          </button>
        </p>
      )}
    </>
  );
}
