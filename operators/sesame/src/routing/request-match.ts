// Whether a route is for a request, as far as the request is known.
import type { HeaderMatch, PathMatch, QueryMatch, RouteMatch, TextMatch } from '../model/match.ts';

export interface RequestView {
  /** The path, without the query. */
  readonly path: string;
  /** Undefined: not known, and any may be meant. */
  readonly query?: URLSearchParams | undefined;
  /** By lower-case names, with `:method` and `:authority`; undefined: not known. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** `maybe` when it depends on headers or parameters that are not known. */
export function fits({ path, headers, query }: RouteMatch, request: RequestView): 'yes' | 'no' | 'maybe' {
  if (!fitsPath(path, request.path)) return 'no';
  // A wildcard host limits it to one label, which the host was found by.
  const conditions = headers.filter(({ name }) => name !== ':authority');
  const known = request.headers;
  if (known && !conditions.every((each) => fitsHeader(each, known[each.name.toLowerCase()]))) return 'no';
  const parameters = request.query;
  if (parameters && !query.every((each) => fitsQuery(each, parameters.get(each.name)))) return 'no';
  const isOpen = (conditions.length > 0 && !known) || (query.length > 0 && !parameters);
  return isOpen ? 'maybe' : 'yes';
}

function fitsPath(match: PathMatch, path: string): boolean {
  if (match.kind === 'exact') return path === match.value;
  if (match.kind === 'regex') return fitsRegex(match.value, path);
  if (match.isSegment === true && match.value !== '/')
    return path === match.value || path.startsWith(`${match.value}/`);
  return path.startsWith(match.value);
}

function fitsHeader(match: HeaderMatch, value: string | undefined): boolean {
  const { kind, isInverted, treatMissingAsEmpty } = match;
  if (kind === 'present') return (value !== undefined) !== isInverted;
  const text = value ?? (treatMissingAsEmpty ? '' : undefined);
  // Envoy's inverted matches hold for a header that is missing.
  if (text === undefined) return isInverted;
  return fitsText({ ...match, kind }, text) !== isInverted;
}

function fitsQuery(match: QueryMatch, value: string | null): boolean {
  if (value === null) return false;
  return match.kind === 'present' || fitsText({ ...match, kind: match.kind }, value);
}

function fitsText({ kind, value, ignoreCase }: TextMatch, text: string): boolean {
  if (kind === 'regex') return fitsRegex(value, text);
  const [wanted, given] = ignoreCase === true ? [value.toLowerCase(), text.toLowerCase()] : [value, text];
  switch (kind) {
    case 'exact':
      return given === wanted;
    case 'prefix':
      return given.startsWith(wanted);
    case 'suffix':
      return given.endsWith(wanted);
    case 'contains':
      return given.includes(wanted);
  }
}

function fitsRegex(regex: string, text: string): boolean {
  try {
    return new RegExp(`^(?:${regex})$`).test(text);
  } catch {
    // Legal for Envoy and not here: it may fit.
    return true;
  }
}

/** Describes the match of a route in a few words. */
export function matchText({ path, headers, query }: RouteMatch): string {
  const value = path.kind === 'regex' && !path.value.startsWith('^') ? `^${path.value}` : path.value;
  const names = headers.flatMap(({ name }) => (name === ':authority' ? [] : `header ${name}`));
  return [`${path.kind} ${value}`, ...names, ...query.map(({ name }) => `query ${name}`)].join(', ');
}
