// One form for every accepted spelling. The user's object is never rewritten: this form exists in memory only. A difference from the user's
// spelling is a warning; two spellings of one field that contradict each other are an error.
import { equal, isJsonObject, type JsonObject } from '@capstan/kube/values';
import type { ConfigurationSpec } from '../kinds/configuration-spec.ts';
import { schemaAt, valueAt, withValueAt } from './fields.ts';
import { errorAt, type Problem, shown, warningAt } from './problem.ts';

export interface Normalised {
  readonly spec: ConfigurationSpec;
  readonly problems: readonly Problem[];
}

/** The configuration in its normal form. Values of a wrong type are left as they are: the schema reports them. */
export function normalise(given: unknown): Normalised {
  const problems: Problem[] = [];
  let spec: JsonObject = isJsonObject(given) ? camelCased(withoutNulls(given), '', problems) : {};
  spec = moved(spec, 'xdsServer.tls.insecure', 'xdsServer.insecure', (value) => value, problems);
  spec = moved(spec, 'ingress.classNames', 'ingress.className', joined, problems);
  spec = moved(spec, 'envoy.logging.accessLogJSONFields', 'envoy.logging.jsonFields', (value) => value, problems);
  for (const path of ['rateLimitService.extensionService', 'tracing.extensionService'])
    spec = changed(spec, path, referenceText);
  spec = changed(spec, 'debug.logLevel', lowerCase);
  for (const path of ['envoy.http.accessLog', 'envoy.https.accessLog']) {
    const value = valueAt(spec, path);
    if (value !== '/dev/STDOUT' && value !== '/dev/STDERR') continue;
    spec = withValueAt(spec, path, value.toLowerCase());
    problems.push(
      warningAt(
        path,
        'FieldNormalised',
        'Deprecated',
        `is used as ${value.toLowerCase()} (${shown(value)}); device names are in lower case`,
      ),
    );
  }
  spec = changed(spec, 'envoy.logging.jsonFields', (value) => withoutPlaceholders(value, problems));
  for (const path of ['envoy.listener.tls.cipherSuites', 'envoy.cluster.upstreamTLS.cipherSuites'])
    spec = changed(spec, path, distinct);
  return { spec, problems };
}

/** A null is a value that was left empty. */
export function withoutNulls(value: JsonObject): JsonObject {
  const kept = Object.entries(value).flatMap(([name, part]) => {
    if (part === null || part === undefined) return [];
    return [[name, withoutNullsIn(part)] as const];
  });
  return Object.fromEntries(kept);
}

/** The same of any value: objects may be in lists. */
function withoutNullsIn(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNullsIn);
  return isJsonObject(value) ? withoutNulls(value) : value;
}

/** Fields in kebab-case take their place where the camelCase form is a field; keys of maps stay as they are. */
function camelCased(value: JsonObject, path: string, problems: Problem[]): JsonObject {
  const { properties } = schemaAt(path) ?? {};
  if (properties === undefined) return value;
  const result: JsonObject = {};
  for (const [name, part] of Object.entries(value)) {
    const camel = name.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
    const key = !Object.hasOwn(properties, name) && Object.hasOwn(properties, camel) ? camel : name;
    const at = path === '' ? key : `${path}.${key}`;
    const existing = key === name ? undefined : value[key];
    if (existing !== undefined) {
      if (!equal(existing, part))
        problems.push(contradiction(at, path === '' ? name : `${path}.${name}`, existing, part));
      continue;
    }
    result[key] = isJsonObject(part) ? camelCased(part, at, problems) : part;
  }
  return result;
}

function moved(
  spec: JsonObject,
  from: string,
  to: string,
  convert: (value: unknown) => unknown,
  problems: Problem[],
): JsonObject {
  const alias = valueAt(spec, from);
  if (alias === undefined) return spec;
  const value = convert(alias);
  const existing = valueAt(spec, to);
  if (existing !== undefined && !equal(existing, value)) problems.push(contradiction(to, from, existing, alias));
  const without = withValueAt(spec, from, undefined);
  return existing === undefined ? withValueAt(without, to, value) : without;
}

function contradiction(path: string, alias: string, value: unknown, other: unknown): Problem {
  return errorAt(path, 'Conflict', `contradicts ${alias} (${shown(value)}, ${shown(other)}); remove ${alias}`);
}

function changed(spec: JsonObject, path: string, change: (value: unknown) => unknown): JsonObject {
  const value = valueAt(spec, path);
  if (value === undefined) return spec;
  const next = change(value);
  return next === value ? spec : withValueAt(spec, path, next);
}

function joined(value: unknown): unknown {
  return Array.isArray(value) ? value.join(',') : value;
}

function lowerCase(value: unknown): unknown {
  return typeof value === 'string' ? value.toLowerCase() : value;
}

function distinct(value: unknown): unknown {
  return Array.isArray(value) && new Set(value).size < value.length ? [...new Set<unknown>(value)] : value;
}

/** Upstream's `{ name, namespace }` as `namespace/name`. */
function referenceText(value: unknown): unknown {
  if (!isJsonObject(value)) return value;
  const { name, namespace } = value;
  return typeof name === 'string' && typeof namespace === 'string' ? `${namespace}/${name}` : value;
}

/** `<Fields Omitted)` and the like, from an example that was copied. */
const PLACEHOLDER = /^<[^=%]*[>)]$/;

function withoutPlaceholders(value: unknown, problems: Problem[]): unknown {
  if (!Array.isArray(value)) return value;
  const kept = value.filter((entry) => typeof entry !== 'string' || !PLACEHOLDER.test(entry));
  if (kept.length === value.length) return value;
  const placeholder: unknown = value.find((entry) => !kept.includes(entry));
  problems.push(
    warningAt(
      'envoy.logging.jsonFields',
      'FieldIgnored',
      'Ignored',
      `has a placeholder, which is ignored (${shown(placeholder)}); name the fields that are to be logged`,
    ),
  );
  return kept.length === 0 ? undefined : kept;
}
