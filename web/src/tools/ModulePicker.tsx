import { go, view } from "../state/route";
import { useReport } from "../state/resource";
import type { ModuleChoice } from "./modules";
import { moduleChoices, modulesOf } from "./modules";

/** Picks the module of the page's address; nothing picked is the server's own choice. */
export function ModuleSelect({ choices, chosen }: { readonly choices: readonly ModuleChoice[]; readonly chosen: string }) {
  const asked = view.value["module"] ?? "";
  const value = asked === "" ? chosen : asked;
  return (
    <label class="field" data-tip="The compiled program that the page is about">
      <span>program</span>
      <select
        value={value}
        // What was picked in one program means nothing in another.
        onChange={(event) => go({ view: { module: event.currentTarget.value, node: "", sel: "", to: "", open: "", buffer: "", part: "" } })}
      >
        {!choices.some((choice) => choice.word === value) && <option value={value}>{value === "" ? "the default" : value}</option>}
        {choices.map((choice) => (
          <option key={choice.word} value={choice.word} selected={choice.word === value}>
            {choice.label}
          </option>
        ))}
      </select>
    </label>
  );
}

/** The same, asking for the run's modules itself. */
export function ModulePicker({ chosen = "" }: { readonly chosen?: string }) {
  const modules = useReport("hlo-modules");
  return <ModuleSelect choices={moduleChoices(modulesOf(modules.data, "modules") ?? modules.data?.tables[0] ?? null)} chosen={chosen} />;
}
