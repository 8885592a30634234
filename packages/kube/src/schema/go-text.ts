// Text as kube-apiserver prints it. Its error messages go through Go's %v, %q and JSON encoder, and users (and kubectl's tests)
// know them by heart; these functions give the same characters.

/** A value as Go's encoding/json writes it: object keys sorted, `<`, `>` and `&` escaped. */
export function goJson(value: unknown): string {
  return goStruct(sorted(value));
}

/** A struct: its fields come in the order in which they are. */
export function goStruct(value: unknown): string {
  return JSON.stringify(value).replace(
    /[<>&\u2028\u2029]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

function sorted(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value ?? null;
  if (Array.isArray(value)) return value.map(sorted);
  const entries = Object.entries(value).filter(([, part]) => part !== undefined);
  entries.sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, part]) => [key, sorted(part)]));
}

const ESCAPES: Readonly<Record<string, string>> = {
  '\u0007': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
  '\\': '\\\\',
  '"': '\\"',
};

/** A string as Go's %q writes it. */
export function goQuote(text: string): string {
  if (/^[\x20\x21\x23-\x5b\x5d-\x7e]*$/.test(text)) return `"${text}"`;
  let quoted = '"';
  for (const char of text) {
    const code = char.codePointAt(0) ?? 0;
    const escape = ESCAPES[char];
    if (escape !== undefined) quoted += escape;
    else if (code < 0x20 || code === 0x7f) quoted += `\\x${code.toString(16).padStart(2, '0')}`;
    else if (char === ' ' || /^[\p{L}\p{M}\p{N}\p{P}\p{S}]$/u.test(char)) quoted += char;
    else if (code < 0x10000) quoted += `\\u${code.toString(16).padStart(4, '0')}`;
    else quoted += `\\U${code.toString(16).padStart(8, '0')}`;
  }
  return `${quoted}"`;
}

/** Formats a number as Go's %v does: numbers that the API server decoded as int64 without an exponent, the others as float64. */
export function goNumber(value: number): string {
  return isInt64(value) ? BigInt(value).toString() : goFloat(value);
}

/** A float64 as Go's %v writes it: with an exponent, of two digits at least, below 1e-04 and from 1e+06 on. */
export function goFloat(value: number): string {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf';
  const magnitude = Math.abs(value);
  if (magnitude === 0 || (magnitude >= 1e-4 && magnitude < 1e6)) return String(value);
  return value.toExponential().replace(/e([+-])(\d)$/, 'e$10$2');
}

/** Reports whether Go would hold the number as an int64. 2^63 is accepted, because JavaScript rounds the largest int64 to it. */
export function isInt64(value: number): boolean {
  return Number.isInteger(value) && value >= -(2 ** 63) && value <= 2 ** 63;
}
