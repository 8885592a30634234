import { compileRegexp, type Regexp, RegexpError } from '../../regexp/index.ts';
import { CelError } from '../errors.ts';
import { func, method, type Overload } from '../typing/overload.ts';
import { list } from '../values.ts';

/** The number of compiled patterns that are cached. Patterns are mostly literals, so few are compiled repeatedly. */
const KEPT = 256;

/** Returns matches, find and findAll. Each library has its own cache of compiled patterns. */
export function regexLibrary(): readonly Overload[] {
  const compiled = new Map<string, Regexp>();
  const regexp = (pattern: string, prefix: string): Regexp => {
    const known = compiled.get(pattern);
    if (known) return known;
    try {
      const created = compileRegexp(pattern);
      if (compiled.size >= KEPT) compiled.delete(compiled.keys().next().value ?? '');
      compiled.set(pattern, created);
      return created;
    } catch (error) {
      if (error instanceof RegexpError) throw new CelError(`${prefix}${error.message}`);
      throw error;
    }
  };
  const matches = (text: string, pattern: string): boolean => regexp(pattern, '').test(text);
  return [
    func('matches', '(string, string) -> bool', 'matches', matches),
    method('matches', '(string, string) -> bool', 'matches_string', matches),
    method('find', '(string, string) -> string', 'string_find_string', (text: string, pattern: string) => {
      return regexp(pattern, 'Illegal regex: ').find(text)?.text ?? '';
    }),
    method('findAll', '(string, string) -> list(string)', 'string_find_all_string', (text: string, pattern: string) =>
      list(
        regexp(pattern, 'Illegal regex: ')
          .findAll(text)
          .map((match) => match.text),
      ),
    ),
    method(
      'findAll',
      '(string, string, int) -> list(string)',
      'string_find_all_string_int',
      (text: string, pattern: string, limit: bigint) =>
        list(
          regexp(pattern, 'Illegal regex: ')
            .findAll(text, limit < 0n ? Infinity : Number(limit))
            .map((match) => match.text),
        ),
    ),
  ];
}
