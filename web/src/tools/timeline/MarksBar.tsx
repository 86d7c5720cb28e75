import { formatDuration } from "../../base/format";
import type { TimelineModel } from "../../widgets/timeline/model";
import { markName } from "../../widgets/timeline/overlays";

/** The marks, each removable; the last two give a difference. */
export function MarksBar({ model }: { readonly model: TimelineModel }) {
  const marks = model.marks.value;
  if (marks.length === 0) return null;
  const [first, second] = marks.slice(-2);
  const letters = [markName(marks.length - 2), markName(marks.length - 1)];
  const between = first === undefined || second === undefined ? null : { start: Math.min(first, second), end: Math.max(first, second) };
  return (
    <div class="tl-bar tl-marks" role="group" aria-label="Marks">
      <strong>Marks</strong>
      {marks.map((mark, i) => (
        <span class="chip">
          {`${markName(i)} ${formatDuration(mark, 9)}`}
          <button
            type="button"
            aria-label={`Remove mark ${markName(i)}`}
            onClick={() => (model.marks.value = marks.filter((_, other) => other !== i))}
          >
            ×
          </button>
        </span>
      ))}
      {between !== null && (
        <>
          <span class="tl-difference">{`${letters.join(" to ")}: ${formatDuration(between.end - between.start, 6)}`}</span>
          <button type="button" onClick={() => (model.area.value = { ...between, tracks: null })} disabled={between.end === between.start}>
            Select between
          </button>
        </>
      )}
      <button type="button" class="quiet" onClick={() => (model.marks.value = [])}>
        Remove all
      </button>
    </div>
  );
}
