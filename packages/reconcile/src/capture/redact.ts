// Secret content in a recording: every string of it is replaced by a digest with a key that is kept nowhere. Equal strings of one
// recording stay equal, and none can be guessed back.
import { createHmac } from 'node:crypto';
import { collectSensitive } from '../read/sensitive.ts';
import { type Packed, pack } from './text.ts';

export interface Redactor {
  /** The packed content of a sensitive table: names, labels and the type of an object stay. */
  content(value: unknown): unknown;
  /** The packed result of a function that read these: every string with one of them in it is replaced. */
  result(value: unknown, secrets: ReadonlySet<string>): Packed & { readonly isReplaced: boolean };
  /** A text in which the secrets may be. */
  text(text: string, secrets: ReadonlySet<string>): string;
}

const DIGITS = 16;
/** Shorter lines of a secret are no secrets by themselves. */
const MIN_LINE = 6;

export function createRedactor(key: Uint8Array): Redactor {
  const token = (text: string) => `secret:${createHmac('sha256', key).update(text).digest('hex').slice(0, DIGITS)}`;
  const hidden = (value: unknown) => pack(value, { text: (text) => (text === '' ? text : token(text)) }).value;
  return {
    content(value) {
      if (!isApiObject(value)) return hiddenValues(value, hidden);
      const { apiVersion, kind, metadata, type, ...content } = value;
      const { annotations, ...known } = metadata;
      return {
        apiVersion,
        kind,
        metadata: {
          ...(pack(known).value as object),
          ...(annotations !== undefined && { annotations: hiddenValues(annotations, hidden) }),
        },
        ...(type !== undefined && { type }),
        ...(hiddenValues(content, hidden) as object),
      };
    },
    result(value, secrets) {
      const finds = finderOf(secrets);
      const all = [...secrets];
      let isReplaced = false;
      const text = (given: string) => {
        if (!finds(given)) return given;
        isReplaced = true;
        return token(given);
      };
      const name = (given: string) => (isHeld(given, all) ? text(given) : given);
      const packed = pack(value, { text, name, hasKinds: true });
      return { ...packed, isReplaced };
    },
    text: (text, secrets) => (finderOf(secrets)(text) ? token(text) : text),
  };
}

/** The strings of a value that must not be shown, in every form in which a function may have put them. */
export function secretsOf(value: unknown, into: Set<string>): void {
  const found = new Set<string>();
  collectSensitive(value, found);
  for (const text of found) {
    into.add(text);
    for (const line of text.split(/\r?\n/)) if (line.length >= MIN_LINE) into.add(line);
    into.add(JSON.stringify(text).slice(1, -1));
    into.add(encodeURIComponent(text.toWellFormed()));
    into.add(Buffer.from(text).toString('base64').replace(/=+$/, ''));
    into.add(Buffer.from(text).toString('base64url'));
    into.add(Buffer.from(text).toString('hex'));
  }
}

/** Names of fields stay, at every depth, and every string below them is hidden. */
function hiddenValues(value: unknown, hidden: (value: unknown) => unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => hiddenValues(item, hidden));
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return hidden(value);
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, part]) => (part === undefined ? [] : [[name, hiddenValues(part, hidden)]])),
  );
}

const MIN_PIECE = 6;

function finderOf(secrets: ReadonlySet<string>): (text: string) => boolean {
  const all = [...secrets];
  return (text) =>
    secrets.has(text) || isHeld(text, all) || (text.length >= MIN_PIECE && all.some((known) => known.includes(text)));
}

/** Whether a secret, whole, is in a text. */
function isHeld(text: string, secrets: readonly string[]): boolean {
  return secrets.some((known) => text.includes(known));
}

interface ApiObject extends Record<string, unknown> {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: Record<string, unknown>;
}

function isApiObject(value: unknown): value is ApiObject {
  const { apiVersion, kind, metadata } = (value ?? {}) as Partial<ApiObject>;
  return (
    typeof apiVersion === 'string' && typeof kind === 'string' && typeof metadata === 'object' && metadata !== null
  );
}
