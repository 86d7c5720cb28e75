/** The menu: a group of pages after the other; the parts of a page stand there while it is open. What the run has nothing for is grey. */

import { useEffect, useRef } from "preact/hooks";

import { emptyPages, findEmpty } from "../state/empty";
import { hrefOf, page } from "../state/route";
import { currentRun } from "../state/runs";
import type { PageEntry } from "../tools/pages";
import { SaveButton } from "./SaveButton";

export interface MenuProps {
  readonly pages: readonly PageEntry[];
  readonly current: PageEntry | null;
  readonly version: string;
}

export function Menu({ pages, current, version }: MenuProps) {
  const nav = useRef<HTMLElement>(null);
  const family = current?.under ?? current?.info.id;
  const run = currentRun.value;
  const known = pages.length > 0;
  useEffect(
    () =>
      run !== null && known
        ? findEmpty(
            run,
            pages.map((entry) => entry.info.id),
          )
        : undefined,
    [run?.id, known],
  );
  useEffect(() => {
    // The menu alone is scrolled, along its own way: on a phone it is a strip.
    const [box, link] = [nav.current, nav.current?.querySelector<HTMLElement>("[aria-current]")];
    if (box === null || link === null || link === undefined) return;
    const [outer, inner] = [box.getBoundingClientRect(), link.getBoundingClientRect()];
    if (inner.left < outer.left || inner.right > outer.right) box.scrollLeft += inner.left - outer.left - 40;
    if (inner.top < outer.top || inner.bottom > outer.bottom) box.scrollTop += inner.top - outer.top - 40;
  }, [page.value, pages.length]);
  return (
    <nav ref={nav} class="nav" aria-label="Pages">
      {pages.map((entry, at) => (
        <MenuLink key={entry.info.id} entry={entry} near={entry.under === family} first={at > 0 && pages[at - 1]?.group !== entry.group} />
      ))}
      <SaveButton where="menu" />
      <span class="version">{version === "" ? "" : `version ${version}`}</span>
    </nav>
  );
}

interface MenuLinkProps {
  readonly entry: PageEntry;
  /** It stands under the page that is open, or beside it there. */
  readonly near: boolean;
  /** The first of its group. */
  readonly first: boolean;
}

function MenuLink({ entry, near, first }: MenuLinkProps) {
  const { info, under } = entry;
  const empty = emptyPages.value.has(info.id);
  const kind = [under === undefined ? "" : near ? "under near" : "under", first ? "group" : "", empty ? "empty" : ""]
    .filter(Boolean)
    .join(" ");
  return (
    <a
      class={kind === "" ? undefined : kind}
      href={hrefOf({ page: info.id })}
      data-nav={info.id}
      aria-current={info.id === page.value ? "page" : undefined}
      data-tip={empty ? `${info.question}\nThis run has no data for it.` : info.question}
    >
      {under !== undefined && <span class="visually-hidden">{`${under} `}</span>}
      {info.label}
      {empty && <span class="visually-hidden"> (no data in this run)</span>}
    </a>
  );
}
