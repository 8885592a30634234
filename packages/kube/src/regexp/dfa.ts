// Tests whether a text matches, by an automaton whose states are sets of instructions and are created on demand. A character that was seen
// in a state before costs one array access; a new one costs at most one pass over the program. So a test is linear in the text for every
// pattern. An assertion reads both sides of a position, so a state is resolved only when the next character is known. It holds the
// instructions to follow and the previous character's class.
import { type Charset, hasCodePoint, NEWLINE, WORD } from './charset.ts';
import { EDGE, holdsBetween, OTHER, type Side, sideOf } from './context.ts';
import type { Instruction, Program } from './program.ts';

interface State {
  readonly pcs: readonly number[];
  readonly before: Side;
  /** By class of character; the last is the end of the text. */
  readonly next: (State | undefined)[];
}

const MATCHED: State = { pcs: [], before: OTHER, next: [] };
const FAILED: State = { pcs: [], before: OTHER, next: [] };
/** Above this number, all states are dropped and created again on demand, so that no pattern takes much memory. */
const MAX_STATES = 2000;

/** The test of a program. */
export function createTester(program: Program): (text: string) => boolean {
  const { instructions, isAnchored } = program;
  const assertions = new Set(instructions.flatMap((each) => (each.op === 'assert' ? [each.assertion] : [])));
  const sees = {
    edge: assertions.size > 0,
    lines: assertions.has('line-start') || assertions.has('line-end'),
    words: assertions.has('word') || assertions.has('not-word'),
  };
  const { ascii, classOf, examples } = classify(program, sees);
  const end = examples.length;
  const visited = new Uint32Array(instructions.length);
  let generation = 0;
  let states = new Map<string, State>();

  const stateOf = (pcs: number[], before: Side): State => {
    if (pcs.length === 0) return FAILED;
    pcs.sort((a, b) => a - b);
    const key = `${before}:${pcs.join(',')}`;
    const known = states.get(key);
    if (known) return known;
    if (states.size >= MAX_STATES) states = new Map();
    const state: State = { pcs, before, next: Array.from({ length: end + 1 }) };
    states.set(key, state);
    return state;
  };

  const step = (state: State, klass: number): State => {
    const code = klass === end ? -1 : (examples[klass] as number);
    const after = klass === end ? EDGE : sideOf(code);
    const stepped: number[] = [];
    const stack = [...state.pcs];
    const targets = new Set<number>();
    generation++;
    for (let pc = stack.pop(); pc !== undefined; pc = stack.pop()) {
      if (visited[pc] === generation) continue;
      visited[pc] = generation;
      const instruction = instructions[pc] as Instruction;
      switch (instruction.op) {
        case 'match':
          return MATCHED;
        case 'chars':
          if (code >= 0 && !targets.has(instruction.out) && hasCodePoint(instruction.set, code)) {
            targets.add(instruction.out);
            stepped.push(instruction.out);
          }
          break;
        case 'assert':
          if (holdsBetween(instruction.assertion, state.before, after)) stack.push(instruction.out);
          break;
        case 'save':
          stack.push(instruction.out);
          break;
        case 'split':
          stack.push(instruction.other, instruction.out);
          break;
      }
    }
    if (klass === end) return FAILED;
    if (!isAnchored && !targets.has(program.start)) stepped.push(program.start);
    const isSeen = (after === 1 && sees.lines) || (after === 2 && sees.words);
    return stateOf(stepped, isSeen ? after : OTHER);
  };

  const advance = (state: State, klass: number): State => {
    const next = step(state, klass);
    state.next[klass] = next;
    return next;
  };

  const first = stateOf([program.start], sees.edge ? EDGE : OTHER);
  return (text) => {
    let state = first;
    for (let at = 0; at < text.length; at++) {
      const unit = text.charCodeAt(at);
      let klass: number;
      if (unit < 128) {
        klass = ascii[unit] as number;
      } else {
        const code = text.codePointAt(at) as number;
        if (code > 0xffff) at++;
        klass = classOf(code);
      }
      state = state.next[klass] ?? advance(state, klass);
      if (state.pcs.length === 0) return state === MATCHED;
    }
    return (state.next[end] ?? advance(state, end)) === MATCHED;
  };
}

interface Classes {
  readonly ascii: Uint16Array;
  readonly classOf: (code: number) => number;
  /** One character of each class. */
  readonly examples: readonly number[];
}

/** Divides all characters into classes that no instruction distinguishes. */
function classify({ instructions }: Program, sees: { lines: boolean; words: boolean }): Classes {
  const sets = new Set<Charset>(instructions.flatMap((each) => (each.op === 'chars' ? [each.set] : [])));
  if (sees.lines) sets.add(NEWLINE);
  if (sees.words) sets.add(WORD);
  const edges = new Set<number>([0]);
  for (const set of sets) for (const [at, code] of set.entries()) edges.add(at % 2 === 0 ? code : code + 1);
  const starts = [...edges].sort((a, b) => a - b);
  // Intervals that belong to the same sets form one class. The key of a class lists the numbers of those sets.
  const signatures: string[] = starts.map(() => '');
  const indexOf = new Map(starts.map((start, index) => [start, index]));
  let number = 0;
  for (const set of sets) {
    const mark = String.fromCharCode(1 + (number >> 15), number++ & 0x7fff);
    for (let at = 0; at < set.length; at += 2) {
      const last = indexOf.get((set[at + 1] as number) + 1) ?? starts.length;
      for (let index = indexOf.get(set[at] as number) as number; index < last; index++) signatures[index] += mark;
    }
  }
  const classes = new Map<string, number>();
  const examples: number[] = [];
  const byInterval = Uint16Array.from(signatures, (signature, index) => {
    const known = classes.get(signature);
    if (known !== undefined) return known;
    classes.set(signature, examples.length);
    return examples.push(starts[index] as number) - 1;
  });
  const classOf = (code: number): number => {
    let low = 0;
    let high = starts.length;
    while (low + 1 < high) {
      const middle = (low + high) >> 1;
      if ((starts[middle] as number) <= code) low = middle;
      else high = middle;
    }
    return byInterval[low] as number;
  };
  return { ascii: Uint16Array.from({ length: 128 }, (_, code) => classOf(code)), classOf, examples };
}
