/** Taking a table or a picture along: to the clipboard or as a file. */

import type { ComponentChildren, RefObject } from "preact";
import { useState } from "preact/hooks";

import type { Table } from "../api/types";
import { download } from "./download";
import { pictureOf, rasterised } from "./picture";
import { Popover } from "./Popover";
import { downloadTable, tableText } from "./table/download";
import { copyText } from "./text/copy";

interface Choice {
  readonly label: string;
  readonly act: () => Promise<unknown> | void;
}

function Menu({
  label,
  button,
  choices,
}: {
  readonly label: string;
  readonly button: ComponentChildren;
  readonly choices: readonly Choice[];
}) {
  const [said, setSaid] = useState("");
  const run = async (choice: Choice, close: () => void): Promise<void> => {
    setSaid("");
    try {
      await choice.act();
      // The browser itself shows what it downloads; of a copy nothing is seen.
      if (choice.label.startsWith("Copy")) setSaid(`${choice.label}: done`);
      else close();
    } catch (error) {
      setSaid(error instanceof Error ? error.message : String(error));
    }
  };
  return (
    <Popover label={label} class="quiet" button={button}>
      {(close) => (
        <div class="menu">
          {choices.map((choice) => (
            <button type="button" class="quiet" onClick={() => void run(choice, close)}>
              {choice.label}
            </button>
          ))}
          <span class="menu-said" role="status">
            {said}
          </span>
        </div>
      )}
    </Popover>
  );
}

async function copy(text: string): Promise<void> {
  if (!(await copyText(text))) throw new Error("The browser does not let the page write to the clipboard: download it");
}

/** Every row of the table, unrounded, whatever the filter shows. */
export function TableExport({ table, name }: { readonly table: Table; readonly name: string }) {
  if (table.rows.length === 0) return null;
  return (
    <Menu
      label={`Export ${table.title || table.id}`}
      button="Export"
      choices={[
        { label: "Download CSV", act: () => downloadTable(table, name, "csv") },
        { label: "Download JSON", act: () => downloadTable(table, name, "json") },
        { label: "Copy as CSV", act: () => copy(tableText(table, "csv")) },
        { label: "Copy as JSON", act: () => copy(tableText(table, "json")) },
      ]}
    />
  );
}

/** What `of` shows, as it is drawn now. */
export function PictureExport({
  of,
  title,
  name,
}: {
  readonly of: RefObject<HTMLElement | null>;
  readonly title: string;
  readonly name: string;
}) {
  const svg = (): string => {
    if (of.current === null) throw new Error("There is nothing drawn yet");
    return pictureOf(of.current, title);
  };
  return (
    <Menu
      label={`Save an image of ${title}`}
      button="Save image"
      choices={[
        { label: "Download SVG", act: () => download(new Blob([svg()], { type: "image/svg+xml" }), `${name}.svg`) },
        { label: "Download PNG", act: async () => download(await rasterised(svg()), `${name}.png`) },
        {
          label: "Copy as PNG",
          act: () => navigator.clipboard.write([new ClipboardItem({ "image/png": rasterised(svg()) })]),
        },
      ]}
    />
  );
}
