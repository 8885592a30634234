// Regular expressions in RE2's syntax and with its promise: the time is linear in the text, whatever the pattern, so that a pattern in
// a user's schema or rule cannot stop the server. Look-around and back-references do not exist.
import { createTester } from './dfa.ts';
import { parseRegexp } from './parse.ts';
import { type Slots, search } from './pike.ts';
import { compileProgram } from './program.ts';

export interface RegexpMatch {
  readonly index: number;
  readonly text: string;
  /** From group 1 on; undefined for a group that took no part. */
  readonly groups: readonly (string | undefined)[];
}

export interface Regexp {
  readonly pattern: string;
  /** The names of the groups, from group 1 on. */
  readonly groupNames: readonly (string | undefined)[];
  /** Whether it matches anywhere in the text. */
  test(text: string): boolean;
  /** The leftmost match. */
  find(text: string): RegexpMatch | undefined;
  /** Matches that do not overlap, from left to right; `limit` none by default. */
  findAll(text: string, limit?: number): RegexpMatch[];
  /** Replaces every match; `$1`, `$name` and `${name}` stand for groups, `$$` for a dollar. */
  replaceAll(text: string, replacement: string): string;
}

/** Compiles a pattern; throws a RegexpError, in Go's words, when it is not one. */
export function compileRegexp(pattern: string): Regexp {
  const parsed = parseRegexp(pattern);
  const program = compileProgram(parsed, pattern);
  const groupNames = parsed.groups;
  // Many patterns are only compiled to see whether they compile.
  let tester: ((text: string) => boolean) | undefined;
  const test = (text: string): boolean => {
    tester ??= createTester(program);
    return tester(text);
  };
  const matchOf = (text: string, slots: Slots): RegexpMatch => {
    const groups: (string | undefined)[] = [];
    for (let slot = 2; slot < slots.length; slot += 2) {
      const start = slots[slot] as number;
      groups.push(start < 0 ? undefined : text.slice(start, slots[slot + 1]));
    }
    return { index: slots[0] as number, text: text.slice(slots[0], slots[1]), groups };
  };

  const findAll = (text: string, limit = Infinity): RegexpMatch[] => {
    const matches: RegexpMatch[] = [];
    let lastEnd = -1;
    for (let at = 0; at <= text.length && matches.length < limit; ) {
      const slots = search(program, text, at);
      if (!slots) break;
      const match = matchOf(text, slots);
      const end = match.index + match.text.length;
      const isEmpty = match.text === '';
      // Nothing, right behind a match, is no match of its own.
      if (!(isEmpty && match.index === lastEnd)) matches.push(match);
      at = end > at ? end : at + ((text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1);
      lastEnd = end;
    }
    return matches;
  };

  return {
    pattern,
    groupNames,
    test,
    findAll,
    find(text) {
      const slots = search(program, text, 0);
      return slots && matchOf(text, slots);
    },
    replaceAll(text, replacement) {
      let out = '';
      let at = 0;
      for (const match of findAll(text)) {
        out += text.slice(at, match.index) + expand(replacement, match, groupNames);
        at = match.index + match.text.length;
      }
      return out + text.slice(at);
    },
  };
}

function expand(replacement: string, match: RegexpMatch, names: Regexp['groupNames']): string {
  return replacement.replace(/\$(?:(\$)|\{(\w+)\}|(\w+))/g, (_, dollar?: string, braced?: string, bare?: string) => {
    if (dollar) return '$';
    const name = braced ?? bare ?? '';
    if (!/^\d+$/.test(name)) return match.groups[names.indexOf(name)] ?? '';
    return (Number(name) === 0 ? match.text : match.groups[Number(name) - 1]) ?? '';
  });
}
