import { render } from "preact";

import "../styles/theme.css";
import "../styles/base.css";
import "../styles/panels.css";
import "../styles/finding.css";
import "../styles/table.css";
import "../styles/chart.css";
import "./report.css";
import { readData } from "./data";
import { ReportPage } from "./ReportPage";

const root = document.getElementById("app");
const data = readData(document.getElementById("data")?.textContent);
if (root !== null) {
  root.textContent = "";
  render(
    data === null ? (
      <p class="empty">This file has no report. `haloscope report RUN -o report.html` writes one.</p>
    ) : (
      <ReportPage data={data} />
    ),
    root,
  );
}
