// Messages that are composed of encoded parts: their buffers, and the messages in them.
import { withWriter } from '@capstan/kube/protobuf';
import type { Delivery } from './delivery.ts';
import { encode, encodeAny, Fragment, FragmentChunk } from './encode.ts';
import type { Messages } from './gen/types.ts';
import type { AllMessages, Composed, MessageName } from './message-types.ts';
import { messageTable, TYPE_URL_PREFIX } from './tables.ts';

/** A message of any type. */
type Fields = { readonly [field: string]: unknown };

/**
 * The message in an Any in the buffers that it consists of, without a copy of the chunks in it. They are the first elements of one list of the
 * message.
 */
export function encodeAnyBuffers<Name extends MessageName>(
  type: Name,
  message: Messages[Name],
  delivery: Delivery,
): readonly Uint8Array[] {
  const value: Fields = message as Fields;
  const names = Object.keys(value);
  const at = names.findIndex((name) => chunksOf(value[name]).length > 0);
  const name = names[at];
  const field = name === undefined ? undefined : messageTable(type)?.byName.get(name);
  if (name === undefined || field === undefined) return [encodeAny(type, message, delivery)];
  const chunks = chunksOf(value[name]);
  const part = (from: number, to: number) =>
    Object.fromEntries(names.slice(from, to).map((each) => [each, value[each]]));
  const more = { [name]: (value[name] as readonly unknown[]).slice(chunks.length) };
  const encodePart = (fields: Fields) => encode(type, fields as AllMessages[Name], delivery);
  const before = encodePart(part(0, at));
  const buffers = chunks.map((chunk) => chunk.entries(field.number, delivery));
  const after = encodePart({ ...more, ...part(at + 1, names.length) });
  const size = [before, ...buffers, after].reduce((sum, { length }) => sum + length, 0);
  const head = withWriter((writer) => {
    writer.bytes(before);
    writer.varint(size);
    writer.varint(0x12);
    writer.text(TYPE_URL_PREFIX + type, 1);
  });
  return [head, ...buffers, after];
}

function chunksOf(list: unknown): FragmentChunk[] {
  if (!Array.isArray(list)) return [];
  const end = list.findIndex((item) => !(item instanceof FragmentChunk));
  return (end < 0 ? list : list.slice(0, end)) as FragmentChunk[];
}

/** The messages of a list, also where it holds them encoded. */
export function plainItems<Name extends MessageName>(items: Composed<Name> | undefined): readonly Messages[Name][] {
  return (items ?? []).flatMap((item) => {
    if (item instanceof FragmentChunk) return item.fragments.map((fragment) => fragment.value);
    return item instanceof Fragment ? [item.value] : [item];
  });
}
