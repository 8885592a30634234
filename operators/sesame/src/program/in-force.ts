// The configuration in force: the state machine of one replica, as a pure function of the resource, the flags and the former configuration.
// Every acting part (sockets, controllers, status, the heartbeat) reads this one value.
import { isJsonObject } from '@capstan/kube';
import { type DerivationDefinition, derivation, type ReadDeclaration } from '@capstan/reconcile';
import { changesBetween } from '../configuration/changes.ts';
import {
  type Effective,
  type EffectiveConfiguration,
  effectiveConfiguration,
  type FlagValue,
} from '../configuration/effective.ts';
import { type Problem, warningAt } from '../configuration/problem.ts';
import { OWNER_LABEL } from '../deployment/instance.ts';
import { SesameConfiguration } from '../kinds/index.ts';

export interface Version {
  readonly uid: string;
  readonly generation: number;
}

export interface InForce {
  /** stopped: the newest configuration is invalid, and nothing is served. */
  readonly state: 'running' | 'stopped';
  /** While stopped: the last valid one, or the defaults; sockets and the lease stay as it defines. */
  readonly configuration: EffectiveConfiguration;
  readonly source: 'resource' | 'defaults' | 'file';
  /** The version of the resource whose spec is in force; undefined for defaults and the file. */
  readonly version: Version | undefined;
  /** The newest version that was checked. */
  readonly seen: Version | undefined;
  /** The resource is being deleted, or was while it was in use. */
  readonly isDeleting: boolean;
  readonly errors: readonly Problem[];
  readonly warnings: readonly Problem[];
  /** The configuration in force when the process started: Envoys may have been started with it. */
  readonly first: EffectiveConfiguration;
}

/** The reads of sinks that follow the configuration. */
export type Reads = readonly ReadDeclaration[];

export interface ConfigurationChoice {
  readonly namespace: string;
  /** The SesameConfiguration. */
  readonly name: string;
  /** Instead of the resource: the configuration of a file, valid. */
  readonly file?: Effective | undefined;
  readonly flags: ReadonlyMap<string, FlagValue>;
  readonly watchNamespaces: readonly string[] | undefined;
  readonly invalidPolicy: 'stop' | 'keep-last-good';
}

/** Read with the empty key. */
export function inForceOf(choice: ConfigurationChoice): DerivationDefinition<InForce> {
  const { file } = choice;
  return derivation<InForce>({
    name: 'configuration-in-force',
    compute({ read, previous }) {
      const before = isJsonObject(previous) ? (previous as unknown as InForce) : undefined;
      if (file !== undefined) return ofFile(file);
      // Without its CRD there is no such object, and defaults are in force.
      const isServed = read.access(SesameConfiguration) !== 'not-served';
      const ref = { namespace: choice.namespace, name: choice.name };
      const object = isServed ? read.get(SesameConfiguration, ref, contentOf) : undefined;
      return nextInForce(object, before, choice);
    },
  });
}

/** The parts of the resource that count. */
const contentOf = ({ metadata, spec }: SesameConfiguration) => ({
  spec,
  version: { uid: metadata.uid ?? '', generation: metadata.generation ?? 0 },
  isDeleting: metadata.deletionTimestamp !== undefined,
  isManaged: metadata.labels?.[OWNER_LABEL] !== undefined,
});

type Content = ReturnType<typeof contentOf>;

/** One step of the state machine. Pure. */
export function nextInForce(
  object: Content | undefined,
  before: InForce | undefined,
  { namespace, name, flags, watchNamespaces, invalidPolicy }: Omit<ConfigurationChoice, 'file'>,
): InForce {
  const given = object === undefined || object.isDeleting ? undefined : object;
  const effective = effectiveConfiguration({
    given: given?.spec,
    source: { from: 'resource', name },
    flags,
    watchNamespaces,
    namespace,
  });
  const { errors, warnings } = effective;
  // The leader must be able to release the configuration that is deleted: it keeps its lock until then.
  const value =
    object?.isDeleting === true && before
      ? { ...effective.value, leaderElection: before.configuration.leaderElection }
      : effective.value;
  const common = {
    seen: object?.version,
    isDeleting: object?.isDeleting ?? false,
    errors,
    first: before?.first ?? value,
  };
  if (errors.length === 0)
    return {
      ...common,
      state: 'running',
      configuration: value,
      source: given === undefined ? 'defaults' : 'resource',
      version: given?.version,
      warnings: [...warnings, ...(given?.isManaged === true ? [] : rolloutWarnings(common.first, value))],
    };
  const lastGood =
    before?.configuration ?? effectiveConfiguration({ flags: withoutErrors(flags, errors), namespace }).value;
  const isKept = invalidPolicy === 'keep-last-good' && before?.state === 'running';
  return {
    ...common,
    first: before?.first ?? lastGood,
    state: isKept ? 'running' : 'stopped',
    configuration: lastGood,
    source: before?.source ?? 'defaults',
    version: before?.version,
    warnings,
  };
}

/** Defaults with the flags that are not themselves the error. */
function withoutErrors(
  flags: ReadonlyMap<string, FlagValue>,
  errors: readonly Problem[],
): ReadonlyMap<string, FlagValue> {
  return new Map([...flags].filter(([path]) => !errors.some((error) => error.path === path)));
}

function ofFile({ value, warnings }: Effective): InForce {
  return {
    state: 'running',
    configuration: value,
    source: 'file',
    version: undefined,
    seen: undefined,
    isDeleting: false,
    errors: [],
    warnings,
    first: value,
  };
}

/** Where no operator replaces Envoy's pods, the user must. */
function rolloutWarnings(first: EffectiveConfiguration, now: EffectiveConfiguration): Problem[] {
  return changesBetween(first, now).flatMap(({ path, classes }) =>
    classes.includes('EnvoyRollout')
      ? [
          warningAt(
            path,
            'RestartRequired',
            'EnvoyRolloutNeeded',
            'was changed while Sesame ran; replace the pods of Envoy, which were started with the old value',
          ),
        ]
      : [],
  );
}
