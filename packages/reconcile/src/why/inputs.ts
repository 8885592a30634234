// The inputs of a plan as they are kept in the cause on a child: names and short digests, to be compared by the next process.
// Without names an input that has gone could not be reported.
import type { Cause, Input, Inputs } from '../engine/index.ts';

/** By table: pairs of a key and its digests, `whole:part.part~list`. A key that begins with `/` has the namespace before it. */
export type KeptInputs = Readonly<Record<string, string>>;

export interface KeptCause {
  /** RFC 3339, when they were kept. */
  readonly at: string;
  readonly inputs: KeptInputs;
  /** The lists that were read, with or without members. */
  readonly lists?: string;
}

/** An annotation takes no more: all annotations of an object together may have 256 KiB. */
const MAX_LENGTH = 16_000;

/** Undefined where there are none, or too many. */
export function keepInputs({ values, lists }: Inputs): Omit<KeptCause, 'at'> | undefined {
  if (values.length === 0) return undefined;
  const inputs: Record<string, string> = {};
  let [table, namespace] = ['', ''];
  let length = 0;
  for (const { source, whole, digests, list } of values.toSorted(bySource)) {
    if (source.table !== table) namespace = '';
    table = source.table;
    const [of, name] = splitKey(source.key);
    const key = name === undefined ? of : of === namespace ? `/${name}` : `${of}/${name}`;
    if (name !== undefined) namespace = of;
    const text = `${escaped(key)} ${whole}:${digests.join('.')}${list === undefined ? '' : `~${list}`}`;
    inputs[table] = inputs[table] === undefined ? text : `${inputs[table]} ${text}`;
    length += text.length;
  }
  if (length > MAX_LENGTH) return undefined;
  return { inputs, ...(lists.length > 0 ? { lists: lists.toSorted().join(' ') } : {}) };
}

/**
 * The inputs that differ from those that were kept: changed, created or removed since. An input that is read for the first
 * time, or no longer, follows from another one that changed; it is named only where no other is.
 */
export function changedInputs(now: Inputs, kept: KeptCause): readonly Cause[] {
  const before = parseInputs(kept.inputs);
  const listedBefore = new Set(kept.lists?.split(' '));
  const listedNow = new Set(now.lists);
  const decisive: Cause[] = [];
  const newlyRead: Cause[] = [];
  for (const input of now.values) {
    const known = before.get(nameOf(input.source));
    if (known === undefined) {
      // A list that was read before has another member: it was created, or changed so that it is selected now.
      const isMember = input.list !== undefined && listedBefore.has(input.list);
      const from = isCreatedSince(input.value, kept.at) ? 'absent' : isMember ? '' : 'unknown';
      (isMember ? decisive : newlyRead).push(causeOf(input, from, input.digests[0] ?? ''));
    } else {
      const change = changeOf(known, input);
      if (change !== undefined) decisive.push(causeOf(input, ...change));
    }
    before.delete(nameOf(input.source));
  }
  const unread: Cause[] = [];
  for (const { source, digests, list } of before.values()) {
    const isMember = list !== undefined && listedNow.has(list);
    const after = now.isThere(source.table, source.key) === false ? 'absent' : '';
    const cause = { source, paths: [], before: digests[0] ?? '', after, via: lastStep(now) };
    if (isMember) decisive.push(cause);
    else if (after === 'absent') unread.push(cause);
  }
  return [decisive, newlyRead, unread].find(({ length }) => length > 0) ?? [];
}

/** The digests before and after of the part that changed. More or fewer readers of an equal value are no change of it. */
function changeOf(known: KeptInput, { whole, digests }: Input): [from: string, to: string] | undefined {
  if (whole !== '' && whole === known.whole) return undefined;
  const from = known.digests.find((digest) => !digests.includes(digest));
  const to = digests.find((digest) => !known.digests.includes(digest));
  return from === undefined || to === undefined ? undefined : [from, to];
}

/** The last step of every way: the ones before it are not known of an input that is no longer read. */
function lastStep({ values }: Inputs): readonly string[] {
  return values[0]?.via.slice(-1) ?? [];
}

function causeOf({ source, via }: Input, before: string, after: string): Cause {
  return { source, paths: [], before, after, via };
}

function isCreatedSince(value: unknown, at: string): boolean {
  const { creationTimestamp } = (value as { metadata?: { creationTimestamp?: string } } | undefined)?.metadata ?? {};
  return creationTimestamp !== undefined && Date.parse(creationTimestamp) >= Date.parse(at);
}

interface KeptInput extends Pick<Input, 'source' | 'whole' | 'digests'> {
  readonly list: string | undefined;
}

function parseInputs(kept: KeptInputs): Map<string, KeptInput> {
  const found = new Map<string, KeptInput>();
  for (const [table, text] of Object.entries(kept)) {
    const words = text.split(' ');
    let namespace = '';
    for (let at = 0; at + 1 < words.length; at += 2) {
      const [of, name] = splitKey(unescaped(words[at] ?? ''));
      if (name !== undefined && of !== '') namespace = of;
      const source = { table, key: name === undefined ? of : `${namespace}/${name}` };
      const [content = '', list] = (words[at + 1] ?? '').split('~');
      const [whole = '', digests = ''] = content.split(':');
      found.set(nameOf(source), { source, whole, digests: digests.split('.'), list });
    }
  }
  return found;
}

function nameOf({ table, key }: Input['source']): string {
  return `${table} ${key}`;
}

function splitKey(key: string): [of: string, name: string | undefined] {
  const slash = key.indexOf('/');
  return slash < 0 ? [key, undefined] : [key.slice(0, slash), key.slice(slash + 1)];
}

/** Keys of facts may be any text. */
function escaped(key: string): string {
  return key.replaceAll('%', '%25').replaceAll(' ', '%20');
}

function unescaped(text: string): string {
  return text.replaceAll('%20', ' ').replaceAll('%25', '%');
}

function bySource({ source: left }: Input, { source: right }: Input): number {
  const [a, b] = [nameOf(left), nameOf(right)];
  return a < b ? -1 : a > b ? 1 : 0;
}
