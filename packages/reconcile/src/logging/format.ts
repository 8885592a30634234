import type { Printable, PrintableError } from './printable.ts';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/** A line before it is text; everything in it may be printed. */
export interface Line {
  time: number;
  level: LogLevel;
  message: string;
  fields: Readonly<Record<string, Printable>>;
}

/** One JSON object: time, level and message first, then the fields. */
export function formatJson({ time, level, message, fields }: Line): string {
  const line: Record<string, Printable> = { time: new Date(time).toISOString(), level, message };
  for (const [name, value] of Object.entries(fields)) line[name in line ? `field.${name}` : name] = value;
  return JSON.stringify(line);
}

/** One line for people, and below it, indented, the stack of each error. */
export function formatText({ time, level, message, fields }: Line): string {
  const entries = Object.entries(fields);
  const errors = entries.map(([, value]) => value).filter((value) => isError(value));
  const pairs = entries.map(([name, value]) => `${name}=${isError(value) ? quote(value.message) : quote(value)}`);
  const first = [new Date(time).toISOString(), level.toUpperCase().padEnd(5), oneLine(message), ...pairs].join(' ');
  return [first, ...errors.flatMap((error) => errorLines(error, ''))].join('\n');
}

function isError(value: Printable | undefined): value is PrintableError {
  return (
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    typeof value.name === 'string' &&
    typeof value.message === 'string' &&
    ('stack' in value || 'cause' in value)
  );
}

function errorLines(error: PrintableError, title: string): string[] {
  const frames = typeof error.stack === 'string' ? error.stack.split('\n') : [];
  const errors = Array.isArray(error.errors) ? error.errors : [];
  return [
    `    ${title}${error.name}: ${oneLine(error.message)}`,
    ...frames.map((frame) => `        ${oneLine(frame)}`),
    ...(error.cause === undefined ? [] : partLines(error.cause, 'caused by ')),
    ...errors.flatMap((part) => partLines(part, 'one of them ')),
  ];
}

function partLines(part: Printable, title: string): string[] {
  return isError(part) ? errorLines(part, title) : [`    ${title}${quote(part)}`];
}

/** Bare where it is one word, as JSON otherwise. */
function quote(value: Printable): string {
  if (typeof value === 'string' && /^[^\s"'=\\{}[\],\p{Cc}\p{Cf}\p{Cs}]+$/u.test(value)) return value;
  return oneLine(JSON.stringify(value));
}

/** Nothing in a line may look like another line, or reach a terminal as a command. */
function oneLine(text: string): string {
  return text.replace(
    UNSEEN,
    (character) => ESCAPES[character] ?? `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`,
  );
}

/** Control and format characters, lone surrogates, line and paragraph separators. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;
const ESCAPES: Record<string, string> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };
