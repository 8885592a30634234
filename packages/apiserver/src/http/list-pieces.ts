import { isObject } from '../json/copy.ts';
import { bytesOfTexts } from './bytes-of-texts.ts';

/** Items that are encoded at once at most. */
const STEP_ITEMS = 20;
const PIECE_BYTES = 256 * 1024;

/** The field of a list that is long enough to be written in pieces, so that no other request waits for it. */
export function longListOf(body: unknown): 'items' | 'rows' | undefined {
  if (!isObject(body)) return undefined;
  for (const name of ['items', 'rows'] as const) {
    const list = body[name];
    if (Array.isArray(list) && list.length > STEP_ITEMS) return name;
  }
  return undefined;
}

/** The same text as JSON.stringify would make, and a line feed, in pieces of at least PIECE_BYTES but for the last. Pretty: with an indent of two. */
export function* listPieces(body: object, list: string, isPretty = false): Generator<Buffer, undefined> {
  const indented = (value: unknown, depth: number) =>
    isPretty ? JSON.stringify(value, null, 2).replaceAll('\n', `\n${'  '.repeat(depth)}`) : JSON.stringify(value);
  const line = (depth: number) => (isPretty ? `\n${'  '.repeat(depth)}` : '');
  const colon = isPretty ? ': ' : ':';
  let texts: string[] = [];
  let size = 0;
  const add = (text: string) => {
    texts.push(text);
    size += text.length;
  };
  let opening = '{';
  for (const [name, value] of Object.entries(body)) {
    if (value === undefined) continue;
    add(`${opening}${line(1)}${JSON.stringify(name)}${colon}`);
    opening = ',';
    if (name !== list) {
      add(indented(value, 1));
      continue;
    }
    const items = value as readonly unknown[];
    // Large items are encoded one by one, small ones together, which is faster.
    let step = 1;
    for (let at = 0; at < items.length; ) {
      const text = indented(items.slice(at, at + step), 1);
      add(at === 0 ? '[' : ',');
      // Without the brackets, and the line feed before the last one.
      add(text.slice(1, isPretty ? -line(1).length - 1 : -1));
      at += step;
      if (text.length > PIECE_BYTES) step = Math.ceil(step / 4);
      else if (text.length < PIECE_BYTES / 4) step = Math.min(2 * step, STEP_ITEMS);
      if (size < PIECE_BYTES) continue;
      const piece = bytesOfTexts(...texts);
      texts = [];
      size = 0;
      yield piece;
    }
    add(`${line(1)}]`);
  }
  add(`${line(0)}}\n`);
  yield bytesOfTexts(...texts);
  return undefined;
}
