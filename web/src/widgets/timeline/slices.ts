/** Short forms of names. Pure. */

/** Shortens a name in its middle: hosts of one job differ at the end. */
export function keepEnds(text: string, length: number): string {
  if (text.length <= length || length < 6) return text;
  const head = Math.floor((length - 1) / 3);
  return `${text.slice(0, head)}…${text.slice(text.length - (length - 1 - head))}`;
}

/** A group without its host in front, where the host has a row of its own. */
export function withoutHost(name: string, host: string): string {
  return host !== "" && name.startsWith(`${host}/`) ? name.slice(host.length + 1) : name;
}

/** What fits into a width, given the width of one character; empty when not even three letters do. */
export function fitText(text: string, width: number, charWidth: number): string {
  const room = Math.floor(width / charWidth);
  if (text.length <= room) return text;
  return room < 4 ? "" : `${text.slice(0, room - 1)}…`;
}
