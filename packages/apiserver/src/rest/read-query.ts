import { BETWEEN_VALUES } from './options.ts';

/** Reads the query of a URL as Go does: a pair that is escaped wrongly, or that holds a semicolon, is left out. */
export function readQuery(url: string): Record<string, string> {
  const start = url.indexOf('?');
  if (start < 0) return {};
  const text = url.slice(start + 1);
  const pairs = ODD.test(text)
    ? text
        .split('&')
        .filter((pair) => !ODD.test(pair))
        .join('&')
    : text;
  const query: Record<string, string> = {};
  for (const [name, value] of new URLSearchParams(pairs)) {
    const before = query[name];
    // The first value counts, as in Kubernetes, except for the one option that is a list.
    if (before === undefined) query[name] = value;
    else if (name === 'dryRun') query[name] = `${before}${BETWEEN_VALUES}${value}`;
  }
  return query;
}

const ODD = /%(?![0-9a-f]{2})|;/i;
