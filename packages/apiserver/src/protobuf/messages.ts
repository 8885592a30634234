// The generated tables of messages, read when the first body needs them.
import { readFileSync } from 'node:fs';

export interface MessageField {
  /** In JSON; undefined: the fields of the message are the parent's own. */
  name: string | undefined;
  label: 'one' | 'list' | 'map';
  /** A scalar type, or the name of a message. */
  type: string;
  /** The zero value means that the field is not set. */
  leavesOutZero: boolean;
}

export interface Messages {
  /** The message of a kind, as `apps/v1 Deployment` names it. */
  ofKind(apiVersion: string, kind: string): string | undefined;
  fields(message: string): ReadonlyMap<number, MessageField> | undefined;
  /** Whether any kind of the version has a message. */
  hasVersion(apiVersion: string): boolean;
  /** Whether JSON shows the message as a bare list. */
  isList(message: string): boolean;
}

/** The name of the only field of such a message. */
export const BARE_LIST = '@';

let shared: Messages | undefined;

/** The tables, loaded once: they never change. */
export function sharedMessages(): Messages {
  shared ??= loadMessages();
  return shared;
}

function loadMessages(): Messages {
  const text = readFileSync(new URL('./gen/messages.json', import.meta.url), 'utf8');
  // Our own file, whose shape the generator makes and the tests of the decoder check.
  const tables = JSON.parse(text) as { kinds: Record<string, string>; messages: Record<string, string[]> };
  const kinds = new Map(Object.entries(tables.kinds));
  const rows = new Map(Object.entries(tables.messages));
  const versions = new Set([...kinds.keys()].map((one) => one.split(' ')[0] ?? ''));
  const parsed = new Map<string, ReadonlyMap<number, MessageField>>();
  const messages: Messages = {
    ofKind: (apiVersion, kind) => kinds.get(`${apiVersion} ${kind}`),
    fields(message) {
      const known = parsed.get(message);
      if (known) return known;
      const row = rows.get(message);
      if (!row) return undefined;
      const fields = new Map(row.map(parseField));
      parsed.set(message, fields);
      return fields;
    },
    hasVersion: (apiVersion) => versions.has(apiVersion),
    isList: (message) => messages.fields(message)?.get(1)?.name === BARE_LIST,
  };
  return messages;
}

function parseField(text: string): [number, MessageField] {
  const [, number, name, mark, type = '', zero] = /^(\d+) (\S+) (\[\]|\{\})?([\w.]+)(\?)?$/.exec(text) ?? [];
  const label = mark === '[]' ? 'list' : mark === '{}' ? 'map' : 'one';
  return [Number(number), { name: name === '-' ? undefined : name, label, type, leavesOutZero: zero !== undefined }];
}
