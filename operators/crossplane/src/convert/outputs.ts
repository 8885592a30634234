// Where converted texts go. An input is never overwritten unless that was asked for.
import { join, resolve } from 'node:path';
import { reasonOf } from '@capstan/kube';
import { ConvertErrors } from './errors.ts';
import { type InputFile, STDIN } from './inputs.ts';
import type { ConvertIo } from './io.ts';

export interface OutputOptions {
  /** A file, a folder or `-`. */
  readonly output: string;
  readonly inPlace: boolean;
}

/** Writes the texts, which belong to the inputs one by one. */
export async function writeOutputs(
  inputs: readonly InputFile[],
  texts: readonly string[],
  { output, inPlace }: OutputOptions,
  io: ConvertIo,
): Promise<void> {
  const changed = inputs.map((input, index) => ({ input, text: texts[index] ?? input.text }));
  if (inPlace) {
    for (const { input, text } of changed) {
      if (input.path === undefined) io.stdout(text);
      else if (text !== input.text) await write(input.path, text, io);
    }
    return;
  }
  if (output === STDIN) {
    io.stdout(joined(changed.map(({ text }) => text)));
    return;
  }
  const targets = await targetsOf(inputs, output, io);
  const own = new Set(inputs.flatMap(({ path }) => path ?? []));
  for (const target of targets) if (own.has(target)) throw ConvertErrors.OverwritesInput(target);
  const twice = targets.find((target, index) => targets.indexOf(target) !== index);
  if (twice !== undefined) throw ConvertErrors.SamePlace(twice);
  for (const [index, { text }] of changed.entries()) await write(targets[index] ?? '', text, io);
}

/** Into a folder each file at its place below the folder that it was found in; into a file exactly one. */
async function targetsOf(inputs: readonly InputFile[], output: string, io: ConvertIo): Promise<string[]> {
  const path = resolve(io.cwd, output);
  const isFolder = output.endsWith('/') || (await isFolderNow(path, io));
  if (isFolder || inputs.some(({ isInFolder }) => isInFolder)) return inputs.map(({ within }) => join(path, within));
  if (inputs.length > 1) throw ConvertErrors.OneFileForMany(output, inputs.length);
  return [path];
}

async function isFolderNow(path: string, io: ConvertIo): Promise<boolean> {
  try {
    return (await io.files.list(path)) !== undefined;
  } catch {
    return false;
  }
}

async function write(path: string, text: string, io: ConvertIo): Promise<void> {
  try {
    await io.files.write(path, text);
  } catch (error) {
    throw ConvertErrors.Unwritable(path, reasonOf(error));
  }
}

/** One stream of documents; a single text as it is. */
function joined(texts: readonly string[]): string {
  const [first = '', ...rest] = texts;
  return rest.reduce((all, text) => {
    const end = all === '' || all.endsWith('\n') ? '' : '\n';
    // A text that begins with its own mark needs none, and directives belong before it.
    return `${all}${end}${/^(?:---(?:\s|$)|%)/.test(text) ? '' : '---\n'}${text}`;
  }, first);
}
