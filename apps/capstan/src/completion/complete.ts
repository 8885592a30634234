// The candidates for the next word of a command line, for the completion of shells: commands, flags, their values, and the names of live
// objects. It never fails: candidates that cannot be determined are left out.

import { CLUSTER_OPTIONS, type Command, type Commands, type Flag, type Flags } from '@capstan/reconcile/command-line';
import type { Io } from '../cli/io.ts';
import { BUILT_IN_OPERATORS } from '../operators.ts';
import { contextNames, kindNames, namespaceNames, objectNames } from './live-names.ts';

export interface Completion {
  readonly candidates: readonly Candidate[];
  /** Whether names of files fit as well. */
  readonly files: boolean;
}

export interface Candidate {
  readonly value: string;
  readonly help?: string;
  /** More follows it without a space: `deployment/`. */
  readonly isOpen?: true;
}

const NOTHING: Completion = { candidates: [], files: false };
const FILES: Completion = { candidates: [], files: true };

/** `typed` holds the words after the program's name. The last word is the one at the cursor, and may be empty. */
export async function complete(typed: readonly string[], commands: Commands, io: Io): Promise<Completion> {
  const { words, isSplit } = rejoined(typed);
  const current = words.at(-1) ?? '';
  const found = findCommand(words.slice(0, -1), commands);
  if (found === undefined) return startingWith(current, nextWords(words.slice(0, -1), commands));
  const { default: command } = await found.load();
  if ('forward' in command) return FILES;
  const before = words.slice(found.words, -1);
  const [name, value] = current.startsWith('--') ? splitOnce(current) : ['', undefined];
  if (value !== undefined) return completeInline(name, value, { command, before, io, isSplit });
  const pending = flagWaiting(before, command.options);
  if (pending !== undefined) return completeValue(pending, current, { before, io, command });
  if (current.startsWith('-')) return startingWith(current, flagCandidates(command.options));
  return completePositional(current, positionalsIn(before, command.options), { command, before, io });
}

interface Context {
  readonly command: Command;
  readonly before: readonly string[];
  readonly io: Io;
}

/** bash splits `--flag=value` into three words. */
function rejoined(words: readonly string[]): { words: readonly string[]; isSplit: boolean } {
  const joined: string[] = [];
  let isSplit = false;
  for (const [at, word] of words.entries()) {
    const isValue = words[at - 1] === '=' && at > 1;
    if ((word === '=' && at > 0) || isValue) joined.push(`${joined.pop() ?? ''}${word}`);
    else joined.push(word);
    isSplit = word === '=' || isValue;
  }
  return { words: joined, isSplit };
}

async function completeInline(
  flagText: string,
  value: string,
  { isSplit, ...context }: Context & { isSplit: boolean },
): Promise<Completion> {
  const name = flagText.slice(2);
  const flag = context.command.options[name];
  if (flag === undefined) return NOTHING;
  const { candidates, files } = await completeValue([name, flag], value, context);
  if (isSplit) return { candidates, files };
  return { candidates: candidates.map((one) => ({ ...one, value: `${flagText}=${one.value}` })), files };
}

function findCommand(words: readonly string[], commands: Commands) {
  for (const count of [2, 1]) {
    const name = words.slice(0, count).join(' ');
    const entry = words.length >= count && Object.hasOwn(commands, name) ? commands[name] : undefined;
    if (entry !== undefined) return { words: count, load: () => entry.load() };
  }
  return undefined;
}

/** The commands themselves, or the second word of commands of two words. */
function nextWords(before: readonly string[], commands: Commands): Candidate[] {
  const [first] = before;
  const visible = Object.entries(commands).filter(([, entry]) => entry.isHidden !== true);
  if (first !== undefined)
    return visible.flatMap(([name, { summary }]) => {
      const [group, second] = name.split(' ');
      return group === first && second !== undefined ? [{ value: second, help: summary }] : [];
    });
  const groups = new Map<string, Candidate>();
  for (const [name, { summary }] of visible) {
    const [word = '', second] = name.split(' ');
    if (!groups.has(word)) groups.set(word, second === undefined ? { value: word, help: summary } : { value: word });
  }
  return [...groups.values()];
}

/** The flag whose value is expected next. */
function flagWaiting(before: readonly string[], options: Flags): [string, Flag] | undefined {
  const last = before.at(-1) ?? '';
  const found = Object.entries(options).find(([name, { short }]) => last === `--${name}` || last === `-${short}`);
  return found !== undefined && found[1].type === 'string' ? found : undefined;
}

async function completeValue([name, flag]: [string, Flag], text: string, context: Context): Promise<Completion> {
  if (flag.oneOf !== undefined) return startingWith(text, flag.oneOf.map(asValue));
  if (name === 'operators')
    return completeList(
      text,
      BUILT_IN_OPERATORS.map((operator) => operator.name),
    );
  const flags = clusterFlags(context.before, context.command.options);
  if (name === 'namespace' || name === 'operator-namespace')
    return startingWith(text, (await namespaceNames(flags, context.io)).map(asValue));
  if (name === 'context') return startingWith(text, (await contextNames(flags, context.io)).map(asValue));
  return ['FILE', 'FOLDER', 'DIR'].includes(flag.value ?? '') ? FILES : NOTHING;
}

function completeList(text: string, names: readonly string[]): Completion {
  const given = text.split(',').slice(0, -1);
  const prefix = given.map((name) => `${name},`).join('');
  const left = names.filter((name) => !given.includes(name));
  return startingWith(
    text,
    left.map((name) => ({ value: `${prefix}${name}` })),
  );
}

/** `why deployment/x` and `why deployment x`. */
async function completePositional(
  text: string,
  given: readonly string[],
  { command, before, io }: Context,
): Promise<Completion> {
  if (command.positionals === undefined || given.length >= command.positionals) return NOTHING;
  if (command.choices !== undefined) return startingWith(text, command.choices.map(asValue));
  if (!/^\S+ KIND/.test(command.usage)) return FILES;
  const flags = clusterFlags(before, command.options);
  const [kind] = given;
  if (kind !== undefined) return startingWith(text, (await objectNames(kind, flags, io)).map(asValue));
  const slash = text.indexOf('/');
  if (slash < 0)
    return startingWith(
      text,
      (await kindNames(flags, io)).map((name) => ({ value: `${name}/`, isOpen: true as const })),
    );
  const typedKind = text.slice(0, slash);
  const names = await objectNames(typedKind, flags, io);
  return startingWith(
    text,
    names.map((name) => ({ value: `${typedKind}/${name}` })),
  );
}

function positionalsIn(before: readonly string[], options: Flags): readonly string[] {
  return before.filter((word, at) => !word.startsWith('-') && flagWaiting(before.slice(0, at), options) === undefined);
}

/** The flags that say which cluster, as far as they are typed already. */
function clusterFlags(before: readonly string[], options: Flags): { [Name in keyof typeof CLUSTER_OPTIONS]?: string } {
  const found: Record<string, string> = {};
  for (const [at, word] of before.entries()) {
    const [name, value] = word.startsWith('--') ? splitOnce(word.slice(2)) : ['', undefined];
    const waiting = flagWaiting(before.slice(0, at), options);
    if (value !== undefined && name in CLUSTER_OPTIONS) found[name] = value;
    else if (waiting !== undefined && waiting[0] in CLUSTER_OPTIONS) found[waiting[0]] = word;
  }
  return found;
}

function flagCandidates(options: Flags): Candidate[] {
  return [...Object.entries(options), ['help', { help: 'Show this help.' }] as const].map(([name, { help }]) => ({
    value: `--${name}`,
    help,
  }));
}

function startingWith(text: string, candidates: readonly Candidate[]): Completion {
  return { candidates: candidates.filter(({ value }) => value.startsWith(text)), files: false };
}

function asValue(value: string): Candidate {
  return { value };
}

function splitOnce(text: string): [string, string | undefined] {
  const at = text.indexOf('=');
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)];
}
