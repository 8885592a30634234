import { type ApiRequest, type Method, parseDurationNanos } from '@capstan/kube';
import type { BodySource, RequestContext } from '../core.ts';
import {
  badRequest,
  type FieldError,
  fieldForbidden,
  fieldInvalid,
  fieldNotSupported,
  fieldRequired,
  invalid,
  unreadableRevision,
} from '../errors.ts';

import type { Target } from './target.ts';

type Query = Readonly<Record<string, string>>;

export interface ListOptions {
  labelSelector: string;
  fieldSelector: string;
  limit: number;
  continue: string;
  /** Undefined: the most recent; 0: whatever is there. */
  resourceVersion: number | undefined;
  match: 'Exact' | 'NotOlderThan' | undefined;
}

export interface WatchOptions extends ListOptions {
  allowBookmarks: boolean;
  sendInitialEvents: boolean;
  timeoutSeconds: number | undefined;
}

export interface WriteOptions {
  dryRun: boolean;
  fieldManager: string;
  fieldValidation: 'Ignore' | 'Warn' | 'Strict';
  force: boolean;
  /** The objections of a strict reader to the body's text; default none. */
  complaints?: readonly string[];
  /** Returns the refusal for strict objections; default: that the body cannot be handled. */
  refuse?: (target: Target, complaints: readonly string[], kind?: string) => Error;
  /** The body as it was sent; default: nothing knows. */
  source?: BodySource;
}

/** `check` is asked when the options are in order, before the revision is looked at. */
export function listOptions(query: Query, check: () => void = () => {}): ListOptions {
  const match = query['resourceVersionMatch'] ?? '';
  const version = query['resourceVersion'] ?? '';
  const token = query['continue'] ?? '';
  const errors: FieldError[] = [];
  if (match !== '') {
    const field = 'resourceVersionMatch';
    if (version === '')
      errors.push(fieldForbidden(field, 'resourceVersionMatch is forbidden unless resourceVersion is provided'));
    if (token !== '') errors.push(fieldForbidden(field, 'resourceVersionMatch is forbidden when continue is provided'));
    if (match !== 'Exact' && match !== 'NotOlderThan') {
      errors.push(fieldNotSupported(field, match, ['Exact', 'NotOlderThan', '']));
    } else if (match === 'Exact' && version === '0') {
      errors.push(fieldForbidden(field, 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'));
    }
  }
  if (query['sendInitialEvents'] !== undefined) {
    errors.push(fieldForbidden('sendInitialEvents', 'sendInitialEvents is forbidden for list'));
  }
  if (errors.length > 0) throw invalid(LIST_OPTIONS, '', errors);
  check();
  return { ...selection(query), limit: wholeNumber(query, 'limit') ?? 0, continue: token, ...revision(version, match) };
}

export function watchOptions(query: Query, check: () => void = () => {}): WatchOptions {
  const match = query['resourceVersionMatch'] ?? '';
  const sendInitialEvents = query['sendInitialEvents'] !== undefined ? isTrue(query, 'sendInitialEvents') : undefined;
  const errors: FieldError[] = [];
  if (sendInitialEvents !== undefined && match !== 'NotOlderThan') {
    errors.push(
      fieldForbidden('resourceVersionMatch', 'sendInitialEvents requires setting resourceVersionMatch to NotOlderThan'),
    );
  }
  const isUnasked = sendInitialEvents === undefined && match !== '';
  if (isUnasked) {
    errors.push(
      fieldForbidden(
        'resourceVersionMatch',
        'resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided',
      ),
    );
  }
  if (match !== '' && match !== 'NotOlderThan') {
    errors.push(fieldNotSupported('resourceVersionMatch', match, ['NotOlderThan']));
  }
  // A watch without a revision begins with the existing objects, as if its client had requested initial events.
  const isLegacy = sendInitialEvents === undefined && ['', '0'].includes(query['resourceVersion'] ?? '');
  if ((query['continue'] ?? '') !== '' && (match !== '' || isLegacy)) {
    errors.push(fieldForbidden('resourceVersionMatch', 'resourceVersionMatch is forbidden when continue is provided'));
  }
  if (errors.length > 0) throw invalid(LIST_OPTIONS, '', errors);
  check();
  return {
    ...selection(query),
    limit: 0,
    continue: '',
    ...revision(watchedVersion(query), match),
    allowBookmarks: isTrue(query, 'allowWatchBookmarks'),
    sendInitialEvents: sendInitialEvents ?? false,
    timeoutSeconds: wholeNumber(query, 'timeoutSeconds'),
  };
}

function watchedVersion(query: Query): string {
  const version = query['resourceVersion'] ?? '';
  if (!/^\d*$/.test(version)) throw unreadableRevision(version, 'resourceVersion: ');
  return version;
}

/** `kind` is how Kubernetes calls the options of this verb in its errors: CreateOptions, UpdateOptions, PatchOptions. */
export function writeOptions(method: Method, query: Query, defaultManager: string, apply: boolean): WriteOptions {
  const kind = { group: 'meta.k8s.io', kind: OPTION_KINDS[method] ?? 'UpdateOptions' };
  const errors: FieldError[] = [];
  const manager = query['fieldManager'] ?? '';
  if (apply && manager === '') errors.push(fieldRequired('fieldManager', 'is required for apply patch'));
  if (!apply && query['force'] !== undefined && method === 'PATCH') {
    errors.push(fieldForbidden('force', 'may not be specified for non-apply patch'));
  }
  if (manager.length > 128) {
    errors.push({
      field: 'fieldManager',
      reason: 'FieldValueTooLong',
      message: 'Too long: may not be more than 128 bytes',
    });
  }
  for (const [position, character] of Array.from(manager).entries()) {
    if (/^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u.test(character)) continue;
    const code = (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
    const detail = `invalid character U+${code} (at position ${position})`;
    errors.push({
      ...fieldInvalid('fieldManager', manager, detail),
      message: `Invalid value: ${goQuoted(manager)}: ${detail}`,
    });
  }
  const dryRun = dryRunOf(valuesOf(query['dryRun']), errors);
  const validation = query['fieldValidation'] ?? '';
  if (!['', 'Ignore', 'Warn', 'Strict'].includes(validation)) {
    errors.push(fieldNotSupported('fieldValidation', validation, ['', 'Ignore', 'Strict', 'Warn']));
  }
  if (errors.length > 0) throw invalid(kind, '', errors);
  return {
    dryRun,
    fieldManager: manager === '' ? defaultManager : manager,
    fieldValidation: (validation === '' ? 'Warn' : validation) as WriteOptions['fieldValidation'],
    force: isTrue(query, 'force'),
  };
}

/** Reads the values of `dryRun`, an option that may be given more than once. An empty value is one, and is not supported. */
export function dryRunOf(values: readonly unknown[], errors: FieldError[]): boolean {
  if (values.some((one) => one !== 'All')) errors.push(fieldNotSupported('dryRun', values, ['All']));
  return values.length > 0;
}

/** Separates the values of an option that a query has more than once; no value can hold it. */
export const BETWEEN_VALUES = '\n';

export const valuesOf = (value: string | undefined): readonly string[] => value?.split(BETWEEN_VALUES) ?? [];

const ESCAPES: Readonly<Record<string, string>> = { '\u0007': '\\a', '\u000b': '\\v' };

/** As Go prints a text in quotes. */
function goQuoted(text: string): string {
  return JSON.stringify(text).replaceAll(/\\u00([0-9a-f]{2})/g, (escape, digits: string) => {
    const character = JSON.parse(`"${escape}"`) as string;
    return ESCAPES[character] ?? `\\x${digits}`;
  });
}

const LIST_OPTIONS = { group: 'meta.k8s.io', kind: 'ListOptions' };
const OPTION_KINDS: Partial<Record<Method, string>> = {
  POST: 'CreateOptions',
  PUT: 'UpdateOptions',
  PATCH: 'PatchOptions',
  DELETE: 'DeleteOptions',
};

function selection(query: Query) {
  return { labelSelector: query['labelSelector'] ?? '', fieldSelector: query['fieldSelector'] ?? '' };
}

function revision(version: string, match: string): Pick<ListOptions, 'resourceVersion' | 'match'> {
  return {
    resourceVersion: parseRevision(version),
    match: match === 'Exact' || match === 'NotOlderThan' ? match : undefined,
  };
}

/** A resourceVersion as clients send it: empty is none. */
export function parseRevision(version: string): number | undefined {
  if (version === '') return undefined;
  if (!/^\d+$/.test(version)) {
    const problem = `strconv.ParseUint: parsing ${JSON.stringify(version)}: invalid syntax`;
    throw badRequest(
      `invalid resource version: resourceVersion: Invalid value: ${JSON.stringify(version)}: ${problem}`,
    );
  }
  if (BigInt(version) > MAX_UINT64) {
    const problem = `strconv.ParseUint: parsing ${JSON.stringify(version)}: value out of range`;
    throw badRequest(
      `invalid resource version: resourceVersion: Invalid value: ${JSON.stringify(version)}: ${problem}`,
    );
  }
  // Above 2^53 a number of JavaScript is not exact, but no revision of ours is anywhere near.
  return Number(version);
}

const MAX_UINT64 = 2n ** 64n - 1n;

/** Kubernetes reads every text as true besides these two, the empty one included. */
export function isTrue(query: Query, name: string): boolean {
  const value = query[name];
  return value !== undefined && value !== '0' && value.toLowerCase() !== 'false';
}

/** Requests end long before any deadline; an invalid duration is refused all the same. */
export function checkTimeout(query: Query): void {
  const value = query['timeout'] ?? '';
  if (value === '') return;
  try {
    parseDurationNanos(value);
  } catch {
    throw badRequest(`invalid timeout specified in the request URL - time: invalid duration ${JSON.stringify(value)}`);
  }
}

/** Refuses invalid numbers before all other checks. */
export function checkNumbers(query: Query): void {
  for (const name of ['limit', 'timeoutSeconds']) wholeNumber(query, name);
}

/** A number of the query; throws where it is none. */
export function wholeNumber(query: Query, name: string): number | undefined {
  const value = query[name];
  if (value === undefined) return undefined;
  const refuse = (why: string) => badRequest(`strconv.ParseInt: parsing ${JSON.stringify(value)}: ${why}`);
  if (!/^[+-]?\d+$/.test(value)) throw refuse('invalid syntax');
  const number = BigInt(value.replace(/^\+/, ''));
  if (number !== BigInt.asIntN(64, number)) throw refuse('value out of range');
  return Number(number);
}

/** Returns the options of a request that writes. */
export function optionsOf(request: ApiRequest, context: RequestContext, apply = false): WriteOptions {
  return {
    ...writeOptions(request.method, request.query ?? {}, managerOf(request, context), apply),
    ...(context.duplicates && { complaints: context.duplicates }),
    ...(context.source && { source: context.source }),
  };
}

/** The field manager of who does not name one: the program, as its user agent begins. */
export function managerOf(request: ApiRequest, context: RequestContext): string {
  const agent = request.headers?.['user-agent'] ?? context.userAgent ?? 'unknown';
  return (agent.split('/')[0] ?? '').slice(0, 128);
}
