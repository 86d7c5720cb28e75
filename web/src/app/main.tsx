import { render } from "preact";

import "../styles/theme.css";
import "../styles/base.css";
import "../styles/shell.css";
import "../styles/scope.css";
import "../styles/panels.css";
import "../styles/finding.css";
import "../styles/diagnose.css";
import "../styles/why.css";
import "../styles/table.css";
import "../styles/chart.css";
import "../styles/timeline.css";
import "../styles/text.css";
import "../styles/memory.css";
import "../styles/graph.css";
import "../styles/tree.css";
import { page } from "../state/route";
import { loadAhead } from "../tools/pages";
import { App } from "./App";

loadAhead(page.value);
const root = document.getElementById("app");
if (root !== null) render(<App />, root);
