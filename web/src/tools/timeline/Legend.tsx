/** What the colours mean, and how many events of each are in view. A click lets one class stand out. */

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

import { formatInt } from "../../base/format";
import { SLICE_COLOURS, sliceVar } from "../../widgets/timeline/classes";
import type { TimelineModel } from "../../widgets/timeline/model";
import type { ClassCount } from "../../widgets/timeline/picks";
import { classesInView } from "../../widgets/timeline/picks";

/** Room for the button that shows the others, and between entries; CSS pixels. */
const MORE = 84;
const GAP = 4;
const REST_MS = 200;

/** Counted when the view has come to rest: the count touches every slice on the screen. */
function useCounts(model: TimelineModel): readonly ClassCount[] {
  const [counts, setCounts] = useState<readonly ClassCount[]>([]);
  const tracks = model.onScreen.value;
  const version = model.loader.version.value;
  const colouring = model.colouring.value;
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout>;
    const count = (): void => {
      clearTimeout(timer);
      timer = setTimeout(() => setCounts(classesInView(model.loaded, model.onScreen.peek(), model.classes)), REST_MS);
    };
    const undo = model.view.subscribe(count);
    return () => {
      undo();
      clearTimeout(timer);
    };
  }, [model, tracks, version, colouring]);
  return counts;
}

/** How many entries stand in one line of the box; the others are drawn unseen, to be measured again when there is more room. */
function useFits(counts: readonly ClassCount[]) {
  const box = useRef<HTMLDivElement>(null);
  const [fits, setFits] = useState(counts.length);
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return undefined;
    const measure = (): void => {
      const widths = [...element.querySelectorAll<HTMLElement>("[data-entry]")].map((entry) => entry.offsetWidth + GAP);
      const total = widths.reduce((sum, width) => sum + width, 0);
      if (total - GAP <= element.clientWidth) return setFits(widths.length);
      let room = element.clientWidth - MORE;
      setFits(
        Math.max(
          1,
          widths.findIndex((width) => (room -= width) < 0),
        ),
      );
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, [counts]);
  return { box, fits };
}

export function Legend({ model }: { readonly model: TimelineModel }) {
  const counts = useCounts(model);
  const [all, setAll] = useState(false);
  const { box, fits } = useFits(counts);
  if (model.colouring.value === "name") {
    return <p class="tl-hint">Each family of names has a colour: fusion.1 and fusion.7 are one family.</p>;
  }
  if (counts.length === 0) return null;
  const about = counts.some((one) => one.about);
  return (
    <div
      class={all ? "tl-legend all" : "tl-legend"}
      ref={box}
      role="group"
      aria-label="Colours, with the number of events in view; choose one to highlight it"
    >
      {counts.map((one, i) => {
        const name = one.id < 0 ? `no ${model.colouring.value}` : one.name;
        const on = model.highlight.value === one.id;
        const number = one.id < 0 ? SLICE_COLOURS : (model.classes.colours[one.id] ?? SLICE_COLOURS);
        const colour = sliceVar(number);
        return (
          <button
            type="button"
            data-entry
            class={all || i < fits ? "" : "beyond"}
            aria-pressed={on}
            onClick={() => (model.highlight.value = on ? null : one.id)}
          >
            <span class="swatch" style={{ background: colour }} aria-hidden="true" />
            {name}
            <span class="tl-count">{`${one.about ? "≈ " : ""}${formatInt(one.count)}`}</span>
          </button>
        );
      })}
      {counts.length > fits && (
        <button type="button" class="quiet" aria-expanded={all} onClick={() => setAll(!all)}>
          {all ? "fewer" : `${counts.length - fits} more`}
        </button>
      )}
      {about && (all || counts.length <= fits) && (
        <span class="tl-note">≈: events drawn in one pixel count as the longest of them; zoom in for exact numbers.</span>
      )}
    </div>
  );
}
