/** Which of the panels beside the canvas is in front. Pure. */

export interface DockTab {
  readonly id: string;
  readonly label: string;
  /** What it is about: another event, another area. A tab whose subject is new comes to the front. */
  readonly about: string;
  /** Stays where it is when its subject changes, because what changed it is a look and not a choice. */
  readonly quiet?: boolean;
}

/** The tab in front after a change. `held`: what was chosen was chosen inside of the panel in front, which stays there. */
export function frontTab(before: readonly DockTab[], now: readonly DockTab[], front: string, held: boolean): string {
  const stays = now.some((one) => one.id === front);
  if (held && stays) return front;
  const news = now.filter((one) => {
    const old = before.find((other) => other.id === one.id);
    return old === undefined || (old.about !== one.about && one.quiet !== true);
  });
  return news[0]?.id ?? (stays ? front : (now[0]?.id ?? ""));
}
