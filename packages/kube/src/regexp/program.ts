// A parsed expression as instructions for an automaton. Counted repetitions become copies, which is why their counts are limited.
import type { Charset } from './charset.ts';
import { RegexpError } from './errors.ts';
import type { Assertion, Node, ParsedRegexp } from './syntax.ts';

export type Instruction =
  | { readonly op: 'match' }
  | { readonly op: 'chars'; readonly set: Charset; out: number }
  | { readonly op: 'assert'; readonly assertion: Assertion; out: number }
  /** `slot` 2n is where group n starts, 2n+1 where it ends. */
  | { readonly op: 'save'; readonly slot: number; out: number }
  /** `out` is preferred to `other`. */
  | { readonly op: 'split'; out: number; other: number };

export interface Program {
  readonly instructions: readonly Instruction[];
  readonly start: number;
  /** Two a group, the whole match being group 0. */
  readonly slots: number;
  /** Begins with `^` or `\A`, so that it cannot match anywhere but at the start. */
  readonly isAnchored: boolean;
}

/** Go's limit is by memory and about as large. */
const MAX_INSTRUCTIONS = 3_000_000;

export function compileProgram({ root, groups }: ParsedRegexp, pattern: string): Program {
  const instructions: Instruction[] = [{ op: 'match' }];

  const add = (instruction: Instruction): number => {
    if (instructions.length >= MAX_INSTRUCTIONS) throw new RegexpError('expression too large', pattern);
    return instructions.push(instruction) - 1;
  };
  const split = (first: number, second: number, greedy: boolean): number =>
    add(greedy ? { op: 'split', out: first, other: second } : { op: 'split', out: second, other: first });

  // Compile from the end to the start: each node gets the address of its successor and returns its own.
  const emit = (node: Node, next: number): number => {
    switch (node.op) {
      case 'empty':
        return next;
      case 'chars':
        return add({ op: 'chars', set: node.set, out: next });
      case 'assert':
        return add({ op: 'assert', assertion: node.assertion, out: next });
      case 'concat':
        return node.parts.reduceRight((after, part) => emit(part, after), next);
      case 'either':
        return node.parts.map((part) => emit(part, next)).reduceRight((second, first) => split(first, second, true));
      case 'group': {
        const end = add({ op: 'save', slot: 2 * node.index + 1, out: next });
        return add({ op: 'save', slot: 2 * node.index, out: emit(node.part, end) });
      }
      case 'repeat': {
        const { part, min, max, greedy } = node;
        let start = next;
        if (max === Infinity) {
          // One copy loops. If it can match nothing, it must run once at least before the loop is left: (x*)* is ((x*)+)?.
          const loop = add({ op: 'split', out: next, other: next });
          const body = emit(part, loop);
          const again = instructions[loop] as { out: number; other: number };
          if (greedy) again.out = body;
          else again.other = body;
          if (min > 0) start = body;
          else start = canBeEmpty(part) ? split(body, next, greedy) : loop;
        } else {
          for (let copy = min; copy < max; copy++) start = split(emit(part, start), next, greedy);
        }
        for (let copy = max === Infinity ? 1 : 0; copy < min; copy++) start = emit(part, start);
        return start;
      }
    }
  };

  const start = emit(root, 0);
  return { instructions, start, slots: 2 * (groups.length + 1), isAnchored: isAnchored(root) };
}

function canBeEmpty(node: Node): boolean {
  switch (node.op) {
    case 'chars':
      return false;
    case 'concat':
      return node.parts.every(canBeEmpty);
    case 'either':
      return node.parts.some(canBeEmpty);
    case 'group':
      return canBeEmpty(node.part);
    case 'repeat':
      return node.min === 0 || canBeEmpty(node.part);
    default:
      return true;
  }
}

function isAnchored(node: Node): boolean {
  switch (node.op) {
    case 'assert':
      return node.assertion === 'text-start';
    case 'concat':
      return node.parts[0] !== undefined && isAnchored(node.parts[0]);
    case 'either':
      return node.parts.every(isAnchored);
    case 'group':
      return isAnchored(node.part);
    case 'repeat':
      return node.min > 0 && isAnchored(node.part);
    default:
      return false;
  }
}
