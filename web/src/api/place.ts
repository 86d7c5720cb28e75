/** Where the page lies: at the top of its server, or in a folder of another that passes it on, such as TensorBoard. */

/** The folder of an address, with `/` at its end; `/` for what no server sent, such as a file. */
export function folderOf(protocol: string, pathname: string): string {
  return protocol.startsWith("http") ? pathname.slice(0, pathname.lastIndexOf("/") + 1) : "/";
}

const FOLDER = typeof location === "undefined" ? "/" : folderOf(location.protocol, location.pathname);

/** A path of our server's, such as `/api/runs`, as the browser must ask for it. */
export function placed(path: string): string {
  return FOLDER + path.slice(1);
}
