// Where a text matches, and where its groups do: all ways to match are followed side by side, each with its own positions of groups, in
// the order of preference, so that a text is read once. https://swtch.com/~rsc/regexp/regexp2.html
import { hasCodePoint } from './charset.ts';
import { EDGE, holdsBetween, type Side, sideOf } from './context.ts';
import type { Instruction, Program } from './program.ts';

/** The positions of the groups, -1 for those that took no part. */
export type Slots = readonly number[];

interface Threads {
  readonly pcs: number[];
  readonly slots: Slots[];
}

/** The leftmost match from a position on; of several the one that a backtracking search would find first. */
export function search(program: Program, text: string, from: number): Slots | undefined {
  const { instructions } = program;
  const visited = new Uint32Array(instructions.length);
  let generation = 0;
  let matched: Slots | undefined;
  let current: Threads = { pcs: [], slots: [] };
  let before: Side = from === 0 ? EDGE : sideOf(codePointBefore(text, from));
  const none: Slots = Array.from({ length: program.slots }, () => -1);

  const add = (threads: Threads, start: number, startSlots: Slots, at: number, left: Side, right: Side): void => {
    const stack: [pc: number, slots: Slots][] = [[start, startSlots]];
    for (let next = stack.pop(); next; next = stack.pop()) {
      const [pc, slots] = next;
      if (visited[pc] === generation) continue;
      visited[pc] = generation;
      const instruction = instructions[pc] as Instruction;
      switch (instruction.op) {
        case 'match':
        case 'chars':
          threads.pcs.push(pc);
          threads.slots.push(slots);
          break;
        case 'assert':
          if (holdsBetween(instruction.assertion, left, right)) stack.push([instruction.out, slots]);
          break;
        case 'save':
          stack.push([instruction.out, slots.with(instruction.slot, at)]);
          break;
        case 'split':
          stack.push([instruction.other, slots], [instruction.out, slots]);
          break;
      }
    }
  };

  let pending: Threads = { pcs: [], slots: [] };
  for (let at = from; ; ) {
    const code = at < text.length ? (text.codePointAt(at) as number) : -1;
    const after = code < 0 ? EDGE : sideOf(code);
    generation++;
    current = { pcs: [], slots: [] };
    for (const [index, pc] of pending.pcs.entries()) {
      add(current, pc, pending.slots[index] as Slots, at, before, after);
    }
    if (!matched && (at === 0 || !program.isAnchored)) {
      add(current, program.start, none.with(0, at), at, before, after);
    }
    pending = { pcs: [], slots: [] };
    for (const [index, pc] of current.pcs.entries()) {
      const slots = current.slots[index] as Slots;
      const instruction = instructions[pc];
      if (instruction?.op === 'match') {
        // Later threads are less preferred.
        matched = slots.with(1, at);
        break;
      }
      if (instruction?.op === 'chars' && code >= 0 && hasCodePoint(instruction.set, code)) {
        pending.pcs.push(instruction.out);
        pending.slots.push(slots);
      }
    }
    const isOver = pending.pcs.length === 0 && (matched !== undefined || program.isAnchored);
    if (code < 0 || isOver) return matched;
    before = after;
    at += code > 0xffff ? 2 : 1;
  }
}

function codePointBefore(text: string, at: number): number {
  const unit = text.charCodeAt(at - 1);
  const isLow = unit >= 0xdc00 && unit <= 0xdfff && at >= 2;
  return isLow ? (text.codePointAt(at - 2) as number) : unit;
}
