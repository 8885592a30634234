// Parses RE2 syntax as Go's regexp package does in Perl mode, in one pass with a stack of open groups. It refuses the same patterns with
// the same messages as Go, because the texts appear in the answers of an API server.
import { ANY, type Charset, foldCharset, NEWLINE, negateCharset } from './charset.ts';
import { RegexpError } from './errors.ts';
import { escapedClass, parseClass, parseEscape } from './parse-class.ts';
import type { Assertion, Node, ParsedRegexp } from './syntax.ts';

export interface Flags {
  readonly foldCase: boolean;
  readonly multiLine: boolean;
  readonly dotNewline: boolean;
  /** Repetitions are lazy, and greedy with a question mark. */
  readonly swapGreedy: boolean;
}

interface Frame {
  /** 0 for a group that does not capture. */
  readonly index: number;
  /** Restored when the group ends. */
  readonly flags: Flags;
  readonly branches: Node[];
  sequence: Node[];
}

const MAX_REPEAT = 1000;
const MAX_DEPTH = 1000;
const NO_FLAGS: Flags = { foldCase: false, multiLine: false, dotNewline: false, swapGreedy: false };

export function parseRegexp(pattern: string): ParsedRegexp {
  const groups: (string | undefined)[] = [];
  const stack: Frame[] = [{ index: 0, flags: NO_FLAGS, branches: [], sequence: [] }];
  let flags = NO_FLAGS;
  let frame = stack[0] as Frame;
  /** Where the repetition operator that ends at `at` begins; -1 when there is none. */
  let lastRepeat = -1;
  let at = 0;

  const open = (index: number): void => {
    if (stack.length > MAX_DEPTH) throw new RegexpError('expression nests too deeply', pattern);
    frame = { index, flags, branches: [], sequence: [] };
    stack.push(frame);
  };
  const chars = (set: Charset): void => {
    frame.sequence.push({ op: 'chars', set });
  };
  const assertion = (name: Assertion): void => {
    frame.sequence.push({ op: 'assert', assertion: name });
  };
  const literal = (code: number): void => chars(flags.foldCase ? foldCharset([code, code]) : [code, code]);
  const repeat = (start: number, end: number, min: number, max: number): number => {
    const isLazy = pattern.charAt(end) === '?';
    const after = isLazy ? end + 1 : end;
    if (lastRepeat >= 0) {
      throw new RegexpError('invalid nested repetition operator', pattern.slice(lastRepeat, after));
    }
    const part = frame.sequence.pop();
    if (!part) throw new RegexpError('missing argument to repetition operator', pattern.slice(start, after));
    const node: Node = { op: 'repeat', part, min, max, greedy: isLazy === flags.swapGreedy };
    if ((min >= 2 || (max >= 2 && max !== Infinity)) && !isRepeatValid(node, MAX_REPEAT)) {
      throw new RegexpError('invalid repeat count', pattern.slice(start, after));
    }
    frame.sequence.push(node);
    return after;
  };

  while (at < pattern.length) {
    const code = pattern.codePointAt(at) as number;
    const char = String.fromCodePoint(code);
    const start = at;
    let repeated = -1;
    at += char.length;
    switch (char) {
      case '(':
        if (pattern.charAt(at) === '?') {
          const group = parseGroup(pattern, start, flags);
          at = group.end;
          if (group.name !== undefined) {
            if (groups.includes(group.name)) throw new RegexpError('invalid named capture', group.name);
            groups.push(group.name);
            open(groups.length);
          } else {
            if (group.opens) open(0);
            flags = group.flags;
          }
        } else {
          groups.push(undefined);
          open(groups.length);
        }
        break;
      case '|':
        frame.branches.push(concat(frame.sequence));
        frame.sequence = [];
        break;
      case ')': {
        const closed = frame;
        stack.pop();
        const outer = stack.at(-1);
        if (!outer) throw new RegexpError('unexpected )', pattern);
        flags = closed.flags;
        frame = outer;
        const part = closeFrame(closed);
        frame.sequence.push(closed.index > 0 ? { op: 'group', index: closed.index, part } : part);
        break;
      }
      case '^':
        assertion(flags.multiLine ? 'line-start' : 'text-start');
        break;
      case '$':
        assertion(flags.multiLine ? 'line-end' : 'text-end');
        break;
      case '.':
        chars(flags.dotNewline ? ANY : negateCharset(NEWLINE));
        break;
      case '[': {
        const parsed = parseClass(pattern, start, flags.foldCase);
        chars(parsed.set);
        at = parsed.end;
        break;
      }
      case '*':
      case '+':
      case '?':
        at = repeat(start, at, char === '+' ? 1 : 0, char === '?' ? 1 : Infinity);
        repeated = start;
        break;
      case '{': {
        const counts = /^\{(0|[1-9]\d*)(?:(,)(0|[1-9]\d*)?)?\}/.exec(pattern.slice(start));
        if (!counts) {
          literal(code);
          break;
        }
        const end = start + counts[0].length;
        const min = Number(counts[1]);
        const max = counts[3] !== undefined ? Number(counts[3]) : counts[2] ? Infinity : min;
        if (min > MAX_REPEAT || (max !== Infinity && max > MAX_REPEAT) || min > max) {
          throw new RegexpError('invalid repeat count', counts[0]);
        }
        at = repeat(start, end, min, max);
        repeated = start;
        break;
      }
      case '\\': {
        const next = pattern.charAt(at);
        const asserted = ASSERTIONS[next];
        if (asserted) {
          assertion(asserted);
          at++;
        } else if (next === 'Q') {
          const end = pattern.indexOf('\\E', at);
          for (const quoted of pattern.slice(at + 1, end < 0 ? undefined : end)) {
            literal(quoted.codePointAt(0) as number);
          }
          at = end < 0 ? pattern.length : end + 2;
        } else {
          const named = escapedClass(pattern, start, flags.foldCase);
          if (named) {
            chars(named.set);
            at = named.end;
          } else {
            const escaped = parseEscape(pattern, start);
            literal(escaped.code);
            at = escaped.end;
          }
        }
        break;
      }
      default:
        literal(code);
    }
    lastRepeat = repeated;
  }
  if (stack.length > 1) throw new RegexpError('missing closing )', pattern);
  return { root: closeFrame(frame), groups };
}

const ASSERTIONS: Readonly<Record<string, Assertion>> = { A: 'text-start', z: 'text-end', b: 'word', B: 'not-word' };

function closeFrame({ branches, sequence }: Frame): Node {
  const last = concat(sequence);
  return branches.length === 0 ? last : { op: 'either', parts: [...branches, last] };
}

function concat(parts: readonly Node[]): Node {
  if (parts.length === 0) return { op: 'empty' };
  return parts.length === 1 ? (parts[0] as Node) : { op: 'concat', parts };
}

interface GroupStart {
  readonly end: number;
  readonly name?: string;
  /** False for flags that stand alone, `(?i)`. */
  readonly opens: boolean;
  readonly flags: Flags;
}

function parseGroup(pattern: string, start: number, flags: Flags): GroupStart {
  const rest = pattern.slice(start);
  const named = /^\(\?P?</.exec(rest)?.[0];
  if (named !== undefined && rest.length > named.length) {
    const close = rest.indexOf('>');
    if (close < 0) throw new RegexpError('invalid named capture', rest);
    const name = rest.slice(named.length, close);
    if (!/^\w+$/.test(name)) throw new RegexpError('invalid named capture', rest.slice(0, close + 1));
    return { end: start + close + 1, name, opens: true, flags };
  }
  let next = flags;
  let isNegated = false;
  let sawFlag = false;
  let length = 2;
  while (length < rest.length) {
    const char = String.fromCodePoint(rest.codePointAt(length) as number);
    length += char.length;
    const flag = FLAGS[char];
    if (flag) {
      next = { ...next, [flag]: !isNegated };
      sawFlag = true;
    } else if (char === '-' && !isNegated) {
      isNegated = true;
      sawFlag = false;
    } else if ((char === ':' || char === ')') && !(isNegated && !sawFlag)) {
      return { end: start + length, opens: char === ':', flags: next };
    } else {
      break;
    }
  }
  throw new RegexpError('invalid or unsupported Perl syntax', rest.slice(0, length));
}

const FLAGS: Readonly<Record<string, keyof Flags>> = {
  i: 'foldCase',
  m: 'multiLine',
  s: 'dotNewline',
  U: 'swapGreedy',
};

// The counts of nested repetitions multiply, because each repetition is compiled to copies. Their product must stay below the limit.
function isRepeatValid(node: Node, limit: number): boolean {
  switch (node.op) {
    case 'repeat': {
      if (node.min <= 1 && (node.max === Infinity || node.max === 1)) return isRepeatValid(node.part, limit);
      const count = node.max === Infinity ? node.min : node.max;
      if (node.max === 0) return true;
      if (count > limit) return false;
      return isRepeatValid(node.part, count > 0 ? Math.floor(limit / count) : limit);
    }
    case 'concat':
    case 'either':
      return node.parts.every((part) => isRepeatValid(part, limit));
    case 'group':
      return isRepeatValid(node.part, limit);
    default:
      return true;
  }
}
