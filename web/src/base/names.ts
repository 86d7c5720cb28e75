/** Long names of kernels, made short for a row: what a C++ compiler wrote in full. The whole name belongs on hover. Pure. */

/** Names up to this length are shown as they are. */
const SHORT = 40;

/** `void a::b<c::d<e>, 1>(int)` as `b<d<…>, 1>`; what is no C++ name as it is. */
export function foldName(name: string): string {
  if (name.length <= SHORT || !/[<(]/.test(name) || !/^(void [\w:~]+[<(]|[\w:~]+<|\w+::[\w:~]+\()/.test(name)) return name;
  const function_ = name.replace(/^(void|auto) /, "");
  const open = function_.search(/[<(]/);
  const head = bare(function_.slice(0, open));
  if (head === "") return name;
  if (function_[open] === "(") return head;
  const args = topLevel(function_.slice(open + 1));
  return `${head}<${args.map(argument).join(", ")}>`;
}

/** The last part of `a::b::c`. */
function bare(path: string): string {
  return path.trim().split("::").at(-1)?.trim() ?? "";
}

/** One template argument: its own arguments are left out. */
function argument(text: string): string {
  const open = text.indexOf("<");
  return open < 0 ? bare(text) : `${bare(text.slice(0, open))}<…>`;
}

/** The arguments of a list that has just been opened, up to its end or the end of the text: names may be cut. */
function topLevel(text: string): string[] {
  const found: string[] = [];
  let [depth, from, at] = [0, 0, 0];
  for (; at < text.length; at += 1) {
    const char = text[at] ?? "";
    if (char === "<" || char === "(") depth += 1;
    else if ((char === ">" || char === ")") && depth === 0) break;
    else if (char === ">" || char === ")") depth -= 1;
    else if (char === "," && depth === 0) {
      found.push(text.slice(from, at));
      from = at + 1;
    }
  }
  found.push(text.slice(from, at));
  return found.map((one) => one.trim()).filter((one) => one !== "");
}
