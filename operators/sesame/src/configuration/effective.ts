// The effective configuration: defaults, then the resource (or the file), then flags. One immutable value, with the origin of each leaf and
// all its problems. The rest of Sesame reads only this value.
import { applyDefaults, isJsonObject, type JsonObject } from '@capstan/kube/values';
import { type ConfigurationSpec, configurationSchema, type FullConfiguration } from '../kinds/configuration-spec.ts';
import { deepFreeze, givenLeaves, LEAVES, overlay, valueAt } from './fields.ts';
import { normalise } from './normalise.ts';
import type { Problem } from './problem.ts';
import { typeProblems, validate } from './validate.ts';

/** A configuration that is valid and complete. Immutable; equal inputs give equal values. */
export type EffectiveConfiguration = DeepReadonly<FullConfiguration>;

export type DeepReadonly<T> = T extends readonly (infer Item)[]
  ? readonly DeepReadonly<Item>[]
  : T extends object
    ? { readonly [Key in keyof T]: DeepReadonly<T[Key]> }
    : T;

/** Where a value comes from. */
export type Origin =
  | { readonly from: 'default' }
  | { readonly from: 'resource'; readonly name: string }
  | { readonly from: 'file'; readonly path: string }
  | { readonly from: 'flag'; readonly flag: string }
  | { readonly from: 'environment'; readonly variable: string };

export interface FlagValue {
  readonly value: unknown;
  readonly origin: Origin;
}

export interface EffectiveInput {
  /** SesameConfiguration.spec, or a file's content in the same form; undefined when there is neither. */
  readonly given?: unknown;
  /** The origin of `given`. */
  readonly source?:
    | { readonly from: 'resource'; readonly name: string }
    | { readonly from: 'file'; readonly path: string };
  /** Values of flags by the path of the field. */
  readonly flags?: ReadonlyMap<string, FlagValue>;
  /** Where Sesame runs, which is the default of every namespace. Default `projectsesame`. */
  readonly namespace?: string | undefined;
  /** Defaults that differ from the resource's, as the file has them. */
  readonly defaults?: ConfigurationSpec;
  readonly watchNamespaces?: readonly string[] | undefined;
  /** The configuration of a SesameDeployment. */
  readonly isManaged?: boolean;
}

export interface Effective {
  readonly value: EffectiveConfiguration;
  /** The origin of every leaf that has a value. */
  readonly origins: ReadonlyMap<string, Origin>;
  readonly errors: readonly Problem[];
  readonly warnings: readonly Problem[];
}

/** The configuration in force. While there are errors the value is not to be used, and exists for display only. */
export function effectiveConfiguration(input: EffectiveInput): Effective {
  const { given, source, flags = new Map<string, FlagValue>(), defaults = {} } = input;
  const types = given === undefined || given === null ? [] : typeProblems(given);
  const { spec, problems } = normalise(types.length === 0 ? given : withoutPaths(given, types));
  const fromFlags = flagSpec(flags);
  const asked = overlay(spec, fromFlags);
  const base = overlay(namespaceDefaults(input.namespace), defaults);
  const value = deepFreeze(
    canonical(applyDefaults(configurationSchema.json, overlay(base, asked)) as FullConfiguration),
  );
  const found = validate({ given: spec, value, watchNamespaces: input.watchNamespaces, isManaged: input.isManaged });
  const all = [...types, ...problems, ...found];
  return {
    value,
    origins: originsOf(value, spec, flags, source),
    errors: all.filter(({ severity }) => severity === 'error'),
    warnings: all.filter(({ severity }) => severity === 'warning'),
  };
}

function namespaceDefaults(namespace: string | undefined): ConfigurationSpec {
  return namespace ? { envoy: { service: { namespace } }, leaderElection: { configmap: { namespace } } } : {};
}

/** The defaults alone, as an empty resource gives them. */
export function defaultConfiguration(): EffectiveConfiguration {
  return effectiveConfiguration({}).value;
}

/** Values of a wrong type cannot be checked by the rules, which report the rest. */
function withoutPaths(given: unknown, types: readonly Problem[]): unknown {
  if (!isJsonObject(given)) return {};
  const dropped = new Set(types.map(({ path }) => path.split('[')[0] ?? ''));
  const without = (value: JsonObject, path: string): JsonObject =>
    Object.fromEntries(
      Object.entries(value).flatMap(([name, part]) => {
        const at = path === '' ? name : `${path}.${name}`;
        if (dropped.has(at)) return [];
        return [[name, isJsonObject(part) ? without(part, at) : part]];
      }),
    );
  return without(given, '');
}

function flagSpec(flags: ReadonlyMap<string, FlagValue>): JsonObject {
  let spec: JsonObject = {};
  for (const [path, { value }] of flags) {
    const nested = path.split('.').reduceRight<unknown>((below, name) => ({ [name]: below }), value);
    spec = overlay(spec, nested as JsonObject);
  }
  return spec;
}

/** One form for values that mean the same: an empty timeout is none. */
function canonical(value: FullConfiguration): FullConfiguration {
  const { timeouts } = value.envoy;
  const entries = Object.entries(timeouts).filter(([, timeout]) => timeout !== '');
  if (entries.length === Object.keys(timeouts).length) return httpVersions(value);
  const kept = { connectTimeout: timeouts.connectTimeout, ...Object.fromEntries(entries) };
  return httpVersions({ ...value, envoy: { ...value.envoy, timeouts: kept } });
}

/** The file has them in any case; the empty list means both. */
function httpVersions(value: FullConfiguration): FullConfiguration {
  const given = value.envoy.defaultHTTPVersions;
  const versions = given.length === 0 ? ['HTTP/1.1', 'HTTP/2'] : given.map((version) => version.toUpperCase());
  const isSame = versions.every((version, index) => version === given[index]) && versions.length === given.length;
  return isSame ? value : { ...value, envoy: { ...value.envoy, defaultHTTPVersions: versions } };
}

function originsOf(
  value: unknown,
  spec: ConfigurationSpec,
  flags: ReadonlyMap<string, FlagValue>,
  source: EffectiveInput['source'],
): ReadonlyMap<string, Origin> {
  const given = new Set(givenLeaves(spec).map(([path]) => path));
  const origins = new Map<string, Origin>();
  for (const path of LEAVES) {
    if (valueAt(value, path) === undefined) continue;
    const flag = flags.get(path);
    if (flag !== undefined) origins.set(path, flag.origin);
    else if (given.has(path)) origins.set(path, source ?? { from: 'resource', name: 'sesame' });
    else origins.set(path, { from: 'default' });
  }
  return origins;
}

/** The origin in words: `resource sesame`, `flag --http-port`. */
export function originText(origin: Origin): string {
  switch (origin.from) {
    case 'default':
      return 'default';
    case 'resource':
      return `resource ${origin.name}`;
    case 'file':
      return `file ${origin.path}`;
    case 'flag':
      return `flag ${origin.flag}`;
    case 'environment':
      return `environment ${origin.variable}`;
  }
}
