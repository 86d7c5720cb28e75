/** Hands a file to the browser. */
export function download(content: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name.replace(/[^\w.-]+/g, "_");
  link.click();
  // The click starts the download; the address may go once the browser has taken it.
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
