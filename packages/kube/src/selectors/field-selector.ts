// Field selectors: `metadata.name=web,status.phase!=Running`. Unlike labels, a missing field counts as empty, values may
// hold anything (`\,`, `\=` and `\\` escape), and the fields that can be selected are the server's to say.
import { ValueErrors } from '../errors.ts';

export interface FieldTerm {
  readonly field: string;
  readonly operator: '=' | '!=';
  readonly value: string;
}

export interface CompiledFieldSelector {
  /** `get` gives the value of a field as text, '' or undefined where there is none. */
  matches(get: (field: string) => string | undefined): boolean;
  readonly terms: readonly FieldTerm[];
  /** Sorted and escaped; a valid selector itself. */
  readonly canonical: string;
  /** Returns the value that a field must have to match. Look-ups by name and single-object watches use it. */
  required(field: string): string | undefined;
}

/** Reads the text form, as in `kubectl --field-selector`; throws InvalidValueError with kube-apiserver's words. */
export function parseFieldSelector(text: string): CompiledFieldSelector {
  const terms: FieldTerm[] = [];
  // Sorted first, so that of several mistakes the server's first is named.
  for (const part of splitUnescaped(text).toSorted()) {
    if (part === '') continue;
    const split = /^(.*?)(!=|==|=)(.*)$/s.exec(part);
    if (!split) throw ValueErrors.FieldSelector(text, `invalid selector: '${text}'; can't understand '${part}'`);
    const [, field = '', operator, escaped = ''] = split;
    const value = unescape(text, escaped);
    // A lone `=` has no effect, as on the server.
    if (field !== '' || value !== '') terms.push({ field, operator: operator === '!=' ? '!=' : '=', value });
  }
  return compileFieldSelector(terms);
}

/** The selector that all these terms make. */
export function compileFieldSelector(given: readonly FieldTerm[]): CompiledFieldSelector {
  const byText = new Map(given.map((term) => [formatFieldTerm(term), term]));
  const sorted = [...byText].toSorted(([a], [b]) => (a < b ? -1 : 1));
  const terms = sorted.map(([, term]) => term);
  return {
    terms,
    canonical: sorted.map(([term]) => term).join(','),
    matches: (get) =>
      terms.every(({ field, operator, value }) => ((get(field) ?? '') === value) === (operator === '=')),
    required: (field) => terms.find((term) => term.field === field && term.operator === '=')?.value,
  };
}

/** One term as text, its value escaped. */
export function formatFieldTerm({ field, operator, value }: FieldTerm): string {
  return `${field}${operator}${value.replace(/[\\,=]/g, '\\$&')}`;
}

function splitUnescaped(text: string): string[] {
  const parts: string[] = [];
  let part = '';
  for (let i = 0; i < text.length; i++) {
    const character = text.charAt(i);
    if (character === ',') {
      parts.push(part);
      part = '';
    } else {
      // A backslash takes the next character with it, comma or not.
      part += character === '\\' ? character + text.charAt(++i) : character;
    }
  }
  return [...parts, part];
}

function unescape(text: string, escaped: string): string {
  return escaped.replace(/\\([\s\S]?)|[,=]/gu, (found: string, character: string | undefined) => {
    if (character === undefined) {
      throw ValueErrors.FieldSelector(
        text,
        `invalid field selector: unescaped character in value: ${found.charCodeAt(0)}`,
      );
    }
    if (character === '' || !'\\,='.includes(character)) {
      throw ValueErrors.FieldSelector(text, `invalid field selector: invalid escape sequence: ${found}`);
    }
    return character;
  });
}
