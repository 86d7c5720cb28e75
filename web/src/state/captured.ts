/** Whether a capture has ended. Pure. */

const OVER: readonly string[] = ["done", "failed", "cancelled"];

export function isOver(capture: { readonly state: string }): boolean {
  return OVER.includes(capture.state);
}
