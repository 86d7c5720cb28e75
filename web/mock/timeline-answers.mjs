// The timeline's answers beside its tracks: tiles, search, totals, flows, steps, overlap, counters, clock.
import { of, timelineWindow } from "./timeline.mjs";

/** Packs a window as the server packs a tile; the layout stands in `src/widgets/timeline/tile.ts`. */
export function tile(run, start, end, px, ids, colour) {
  const { tracks, names } = timelineWindow(run, start, end, px, ids);
  for (const track of tracks) track.slices.sort((a, b) => a[2] - b[2] || a[0] - b[0]);
  const all = tracks.flatMap((track) => track.slices);
  const classOf = (name) => (colour === "module" ? "jit_train_step" : colour === "class" ? timeClass(name) : name.split(".")[0]);
  const classes = [...new Set(all.map((slice) => classOf(names[slice[3]])))];
  const texts = [...names, ...classes].map((text) => Buffer.from(text));
  const textBytes = texts.reduce((sum, text) => sum + text.length, 0);
  const count = all.length;
  const out = Buffer.alloc(32 + count * 31 + tracks.length * 8 + (texts.length + 1) * 4 + textBytes);
  [0x31544c48, tracks.length, count, names.length, classes.length, textBytes].forEach((value, i) => out.writeUInt32LE(value, i * 4));
  out.writeBigInt64LE(BigInt(start), 24);
  let at = 32;
  const column = (values, width, write) => {
    values.forEach((value, i) => write(value, at + i * width));
    at += values.length * width;
  };
  const double = (value, to) => out.writeDoubleLE(value, to);
  const word = (value, to) => out.writeUInt32LE(value, to);
  const from = all.map((slice) => slice[0] - start);
  column(from, 8, double);
  column(all.map((slice) => slice[1]), 8, double); // prettier-ignore
  column(all.map((slice) => slice[3]), 4, word); // prettier-ignore
  column(all.map((slice) => slice[5]), 4, (value, to) => out.writeInt32LE(value, to)); // prettier-ignore
  column(all.map((slice) => slice[4]), 4, word); // prettier-ignore
  column(tracks.map((track) => track.id), 4, word); // prettier-ignore
  column(tracks.map((track) => track.slices.length), 4, word); // prettier-ignore
  let offset = 0;
  column([0, ...texts.map((text) => (offset += text.length))], 4, word);
  column(all.map((slice) => slice[2]), 2, (value, to) => out.writeUInt16LE(value, to)); // prettier-ignore
  column(all.map((slice) => classes.indexOf(classOf(names[slice[3]]))), 1, (value, to) => out.writeUInt8(value, to)); // prettier-ignore
  Buffer.concat(texts).copy(out, at);
  return out;
}

function timeClass(name) {
  return name.startsWith("all-") ? "communication" : name.startsWith("copy") ? "transfer" : "compute";
}

function* events(run, ids, start, end) {
  const { lines } = of(run);
  for (const [track, list] of lines) {
    if (ids !== null && !ids.includes(track)) continue;
    for (const [event, [at, length, depth, name]] of list.entries()) {
      if (at + length > start && at < end) {
        yield { track, event, start_ps: Math.floor(at), duration_ps: Math.floor(length), depth, name };
      }
    }
  }
}

const SIZES = { ps: 1, ns: 1e3, us: 1e6, ms: 1e9, s: 1e12 };
const duration = (text) => (text === null ? null : parseFloat(text) * (SIZES[/[a-z]+$/.exec(text)?.[0] ?? "ps"] ?? 1));
const order = (a, b) => a.start_ps - b.start_ps || a.track - b.track || a.event - b.event;

function search(run, query, ids, start, end) {
  const q = query.get("q") ?? "";
  const match = query.get("regex") === "1" ? (name) => new RegExp(q).test(name) : (name) => name.toLowerCase().includes(q.toLowerCase());
  const [min, max] = [duration(query.get("min")), duration(query.get("max"))];
  const fits = (one) => match(one.name) && (min === null || one.duration_ps >= min) && (max === null || one.duration_ps <= max);
  const found = [...events(run, ids, start, end)].filter(fits).sort(order);
  const place = (key) => {
    const [start_ps, track, event] = query.get(key).split(",").map(Number);
    return { start_ps, track, event };
  };
  const limit = Number(query.get("limit") ?? 200);
  let hits = found;
  if (query.has("after")) hits = found.filter((one) => order(one, place("after")) > 0);
  if (query.has("before")) hits = found.filter((one) => order(one, place("before")) < 0).slice(-limit);
  const names = new Map();
  for (const one of found) {
    const entry = names.get(one.name) ?? { name: one.name, count: 0, total_ps: 0 };
    entry.count += 1;
    entry.total_ps += one.duration_ps;
    names.set(one.name, entry);
  }
  return {
    count: found.length,
    total_ps: found.reduce((sum, one) => sum + one.duration_ps, 0),
    longest: [...found].sort((a, b) => b.duration_ps - a.duration_ps)[0] ?? null,
    hits: hits.slice(0, limit),
    by_name: [...names.values()].sort((a, b) => b.total_ps - a.total_ps).slice(0, 50),
    more: hits.length > limit,
  };
}

function totals(run, ids, start, end) {
  const ops = new Map();
  const all = [...events(run, ids, start, end)];
  for (const one of all) {
    const clipped = Math.min(end, one.start_ps + one.duration_ps) - Math.max(start, one.start_ps);
    const blank = {
      name: one.name,
      category: one.name.split(".")[0],
      module: null,
      count: 0,
      total_ps: 0,
      self_ps: 0,
      flops: null,
      bytes: null,
    };
    const entry = ops.get(one.name) ?? blank;
    entry.count += 1;
    entry.total_ps += clipped;
    entry.self_ps += clipped;
    ops.set(one.name, entry);
  }
  const by_op = [...ops.values()].sort((a, b) => b.self_ps - a.self_ps);
  const categories = new Map();
  for (const op of by_op) {
    const entry = categories.get(op.category) ?? { name: op.category, count: 0, self_ps: 0 };
    entry.count += op.count;
    entry.self_ps += op.self_ps;
    categories.set(op.category, entry);
  }
  const busy = by_op.reduce((sum, op) => sum + op.self_ps, 0);
  const tracks = (ids ?? []).map((id) => ({
    id,
    events: all.filter((one) => one.track === id).length,
    union_ps: Math.floor(busy / ids.length),
  }));
  return {
    events: all.length,
    span_ps: end - start,
    union_ps: Math.min(busy, end - start),
    by_op,
    by_category: [...categories.values()],
    tracks,
  };
}

function steps(run) {
  return of(run).lines.get(1).map(([at, length], number) => ({
    number,
    start_ps: Math.floor(at),
    end_ps: Math.floor(at + length),
    class: number === 0 ? "warm-up" : "steady",
  })); // prettier-ignore
}

function overlap(run, start, end) {
  const { groups, lines } = of(run);
  const devices = groups.filter((group) => group.kind === "device").map((group) => {
    const spans = lines.get(group.tracks[3].id).flatMap(([at, length], i) => (at + length > start && at < end ? [[at, length, i % 3 === 0 ? 0 : 1]] : []));
    const own = steps(run).map((step) => ({ number: step.number, span_ps: step.end_ps - step.start_ps, busy_ps: (step.end_ps - step.start_ps) * 0.9, gap_ps: (step.end_ps - step.start_ps) * 0.1, gaps: 12, largest_ps: 4e8 }));
    const gaps = steps(run).flatMap((step) => [[step.start_ps, 4e8, step.number], [step.end_ps - 6e8, 6e8, step.number]]);
    return { device: group.device, group: group.id, async_ps: 4e10, hidden_ps: 3e10, exposed_ps: 1e10, spans, steps: own, gaps };
  }); // prettier-ignore
  return { devices };
}

function counters(ids, start, end, px) {
  const points = Array.from({ length: Math.min(px, 400) }, (_, i) => {
    const value = 8e9 + 4e9 * Math.sin(i / 12);
    return [Math.floor(start + ((end - start) * i) / 400), value * 0.9, value * 1.1, i % 97 === 0 ? null : value];
  });
  return { tracks: ids.map((id) => ({ id, counters: [{ name: "in use", unit: "B", min: 3.6e9, max: 13.2e9, points }] })) };
}

/** The body of an answer, or null where the address is none of these. */
export function timelineAnswer(pathname, run, query) {
  const [start, end] = [Number(query.get("start") ?? 0), Number(query.get("end") ?? Number.MAX_SAFE_INTEGER)];
  const px = Number(query.get("px") ?? 1000);
  const ids = query.has("tracks") ? query.get("tracks").split(",").map(Number) : null;
  switch (pathname.slice("/api/timeline/".length)) {
    case "tile":
      return tile(run, start, end, px, ids ?? [], query.get("colour") ?? "category");
    case "search":
      return search(run, query, ids, start, end);
    case "totals":
      return totals(run, ids, start, end);
    case "steps":
      return { source: "the Steps line", steps: steps(run) };
    case "overlap":
      return overlap(run, start, end);
    case "counters":
      return counters(ids ?? [], start, end, px);
    case "flows": {
      const [from, to] = [...of(run).lines.entries()].filter(([track]) => track === Number(query.get("track")) || track > 12).slice(0, 2);
      const end_of = ([track, list], i) => ({ track, event: i, depth: list[i][2], time_ps: Math.floor(list[i][0]) });
      const at = Number(query.get("event"));
      return { total: 1, flows: [{ kind: "launch", from: end_of(to, Math.min(at, to[1].length - 1)), to: end_of(from, at) }] };
    }
    case "clock":
      return {
        hosts: [
          { host: "vm-0", offset_ps: 0, uncertainty_ps: 0, samples: null, method: "reference" },
          { host: "vm-1", offset_ps: 1200000, uncertainty_ps: 3400000, samples: 18, method: "collectives" },
        ],
        note: "Offsets are against vm-0.",
      };
    default:
      return null;
  }
}
