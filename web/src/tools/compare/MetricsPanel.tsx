import { tableOf } from "../../api/read";
import type { Report } from "../../api/types";
import type { ToneName } from "../../widgets/tone";
import { WordTable } from "../../widgets/table/WordTable";
import { withoutUnknown } from "./columns";
import { readable } from "./quantity";

const TONES: Readonly<Record<string, ToneName>> = {
  better: "good",
  worse: "bad",
  unchanged: "plain",
  undecided: "unknown",
  changed: "warn",
  unknown: "unknown",
};

/** What a metric's word means for the reader. */
export function metricTone(word: string): ToneName {
  return TONES[word] ?? "none";
}

/** `Metric | Baseline | Experiment | Delta`, each in its own unit. */
export function MetricsPanel({ report, name }: { readonly report: Report; readonly name: string }) {
  const table = tableOf(report, "metrics");
  return (
    <div class="compare-metrics">
      <WordTable
        table={readable(withoutUnknown(withoutUnknown(table, "verdict"), "note"))}
        exported={table}
        name={name}
        columns={[
          { id: "metric" },
          { id: "baseline" },
          { id: "experiment" },
          { id: "delta" },
          { id: "verdict", tone: metricTone },
          { id: "note" },
          { id: "value" },
          { id: "about" },
        ]}
      />
    </div>
  );
}
