/** A profile that is dropped on the page, or chosen from a folder, becomes a run of the server, in memory until it ends. */

import { useEffect, useRef, useState } from "preact/hooks";

import { ApiError, openFile } from "../api/client";
import { formatBytes } from "../base/format";
import { offer } from "../state/commands";
import { choosing } from "../state/drop";
import { go } from "../state/route";
import { look } from "../state/listing";

function isFiles(event: DragEvent): boolean {
  return event.dataTransfer?.types.includes("Files") === true;
}

export function DropLayer() {
  const [over, setOver] = useState(false);
  const [said, setSaid] = useState("");
  const input = useRef<HTMLInputElement>(null);
  const open = async (files: readonly File[]): Promise<void> => {
    let last = "";
    for (const file of files) {
      setSaid(`${file.name}, ${formatBytes(file.size, 3)}, is being opened…`);
      try {
        last = (await openFile(file)).run;
      } catch (error) {
        const hint = error instanceof ApiError && error.hint !== "" ? ` ${error.hint}` : "";
        setSaid(`${file.name} was not opened: ${error instanceof Error ? error.message : String(error)}.${hint}`);
        return;
      }
    }
    if (last === "") return;
    await look();
    setSaid("");
    go({ run: last, page: "overview" });
  };
  useEffect(() => {
    const onOver = (event: DragEvent): void => {
      if (!isFiles(event)) return;
      event.preventDefault();
      setOver(true);
    };
    const onLeave = (event: DragEvent): void => {
      // Leaving one part of the page for another is no leaving.
      if (event.relatedTarget === null) setOver(false);
    };
    const onDrop = (event: DragEvent): void => {
      if (!isFiles(event)) return;
      event.preventDefault();
      setOver(false);
      void open([...(event.dataTransfer?.files ?? [])]);
    };
    addEventListener("dragover", onOver);
    addEventListener("dragleave", onLeave);
    addEventListener("drop", onDrop);
    return () => {
      removeEventListener("dragover", onOver);
      removeEventListener("dragleave", onLeave);
      removeEventListener("drop", onDrop);
    };
  }, []);
  useEffect(() => offer([{ label: "Open a file", run: () => input.current?.click() }]), []);
  useEffect(() => {
    if (choosing.value > 0) input.current?.click();
  }, [choosing.value]);
  return (
    <>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        aria-label="A profile to open"
        onChange={(event) => {
          void open([...(event.currentTarget.files ?? [])]);
          event.currentTarget.value = "";
        }}
      />
      {over && <div class="drop-over">Drop a profile to open it: .xplane.pb, .gz, HLO. Each file becomes a run.</div>}
      {said !== "" && (
        <div class="drop-said notice" role="status">
          <p>{said}</p>
          <button type="button" class="quiet" onClick={() => setSaid("")}>
            Close
          </button>
        </div>
      )}
    </>
  );
}
