// Changes of inputs that keep most of their structure: a parser refuses random bytes at the first of them.
import type { SeededRandom } from '../random.ts';

export interface Material {
  readonly tokens: readonly Buffer[];
  /** Other inputs, parts of which are spliced in. */
  readonly others: readonly Buffer[];
  readonly maxBytes: number;
}

/** A few changes of an input, one after the other. */
export function mutated(input: Buffer, random: SeededRandom, material: Material): Buffer {
  let result = input;
  for (let count = random.pick([1, 1, 1, 2, 3, 6]); count > 0; count -= 1) {
    result = random.pick(CHANGES)(result, random, material);
  }
  return result.length > material.maxBytes ? result.subarray(0, material.maxBytes) : result;
}

type Change = (input: Buffer, random: SeededRandom, material: Material) => Buffer;

const ODD_BYTES = [0, 1, 0x7f, 0x80, 0xc0, 0xff, 0x0a, 0x20, 0x22, 0x5c];
const ODD_NUMBERS = [
  '0',
  '-1',
  '1e309',
  '-0',
  '9007199254740993',
  '18446744073709551616',
  '2147483648',
  '0.1',
  '1e-400',
];
const ODD_TEXTS = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  '\u0000',
  '\ud800',
  '\u2028',
  '\ufeff',
  'null',
  '',
];
const COUNTS = [2, 3, 10, 100, 1_500];

const flipBit: Change = (input, random) => changedByte(input, random, (byte) => byte ^ (1 << random.integer(0, 7)));
const setByte: Change = (input, random) => changedByte(input, random, () => random.pick(ODD_BYTES));
const addToByte: Change = (input, random) =>
  changedByte(input, random, (byte) => (byte + random.pick([-1, 1, 16, 128])) & 0xff);
const cut: Change = (input, random) => input.subarray(0, random.integer(0, input.length));

const remove: Change = (input, random) => {
  const [start, end] = rangeOf(input, random);
  return Buffer.concat([input.subarray(0, start), input.subarray(end)]);
};

const insertToken: Change = (input, random, { tokens }) =>
  tokens.length === 0 ? input : inserted(input, random, random.pick(tokens));

const replaceByToken: Change = (input, random, { tokens }) => {
  if (tokens.length === 0) return input;
  const [start, end] = rangeOf(input, random);
  return Buffer.concat([input.subarray(0, start), random.pick(tokens), input.subarray(end)]);
};

const repeat: Change = (input, random, { maxBytes }) => {
  const [start, end] = rangeOf(input, random);
  const part = input.subarray(start, end);
  if (part.length === 0) return input;
  const count = Math.min(random.pick(COUNTS), Math.floor((maxBytes - input.length) / part.length));
  if (count < 1) return input;
  return Buffer.concat([input.subarray(0, end), ...Array.from({ length: count }, () => part), input.subarray(end)]);
};

/** Two parts that nest: the opening and the closing one are repeated equally often. */
const nest: Change = (input, random, { maxBytes }) => {
  const [start, end] = rangeOf(input, random);
  const [inner, last] = rangeOf(input.subarray(end), random);
  const opens = input.subarray(start, end);
  const closes = input.subarray(end + inner, end + last);
  const count = Math.min(
    random.pick(COUNTS),
    Math.floor((maxBytes - input.length) / (opens.length + closes.length + 1)),
  );
  if (count < 1) return input;
  const times = (part: Buffer) => Array.from({ length: count }, () => part);
  return Buffer.concat([
    input.subarray(0, end),
    ...times(opens),
    input.subarray(end, end + inner),
    ...times(closes),
    input.subarray(end + inner),
  ]);
};

const splice: Change = (input, random, { others }) => {
  if (others.length === 0) return input;
  const other = random.pick(others);
  const [start, end] = rangeOf(other, random);
  return inserted(input, random, other.subarray(start, end));
};

const crossOver: Change = (input, random, { others }) => {
  if (others.length === 0) return input;
  const other = random.pick(others);
  return Buffer.concat([
    input.subarray(0, random.integer(0, input.length)),
    other.subarray(random.integer(0, other.length)),
  ]);
};

const oddNumber: Change = (input, random) => replacedMatch(input, random, /-?\d+(\.\d+)?/g, random.pick(ODD_NUMBERS));
const oddWord: Change = (input, random) => replacedMatch(input, random, /[A-Za-z_][\w-]*/g, random.pick(ODD_TEXTS));

const CHANGES: readonly Change[] = [
  flipBit,
  setByte,
  addToByte,
  cut,
  remove,
  insertToken,
  insertToken,
  replaceByToken,
  repeat,
  nest,
  splice,
  crossOver,
  oddNumber,
  oddWord,
];

function changedByte(input: Buffer, random: SeededRandom, change: (byte: number) => number): Buffer {
  if (input.length === 0) return input;
  const result = Buffer.from(input);
  const at = random.integer(0, input.length - 1);
  result[at] = change(result[at] ?? 0);
  return result;
}

function inserted(input: Buffer, random: SeededRandom, part: Buffer): Buffer {
  const at = random.integer(0, input.length);
  return Buffer.concat([input.subarray(0, at), part, input.subarray(at)]);
}

/** Mostly short: long ranges leave nothing of the structure. */
function rangeOf(input: Buffer, random: SeededRandom): [start: number, end: number] {
  const start = random.integer(0, input.length);
  const length = random.chance(0.8) ? random.integer(1, 16) : random.integer(1, Math.max(1, input.length));
  return [start, Math.min(input.length, start + length)];
}

function replacedMatch(input: Buffer, random: SeededRandom, pattern: RegExp, by: string): Buffer {
  // Patterns over long inputs would take more time than their parsers.
  if (input.length > 16_384) return input;
  const matches = [...input.toString('latin1').matchAll(pattern)];
  if (matches.length === 0) return input;
  const { index, 0: found } = random.pick(matches);
  return Buffer.concat([input.subarray(0, index), Buffer.from(by), input.subarray(index + found.length)]);
}
