// The effects of changed pieces on Envoy, for `capstan plan`: the resources that would be sent, found by the same assembly that serves
// them. Their changed values are those of the model.
import { changesBetween, equal, type ValueChange } from '@capstan/kube';
import type { SinkChange, SinkEffect, SinkModels, SinkValue } from '@capstan/reconcile';
import { type EnvoyPatchSpec, type Problem, problemText } from '../configuration/index.ts';
import type { NamedSecret } from '../model/certificate.ts';
import type { FilterChain } from '../model/listener.ts';
import { createAssembly } from '../routing/assembly/assembly.ts';
import { isPatched, messageOf } from '../routing/assembly/envoy-patches.ts';
import type { Piece } from '../routing/assembly/piece.ts';
import { fallbackChain, HTTP3_LISTENER, HTTPS_LISTENER } from '../routing/listener/filter-chain.ts';
import type { ListenerModel } from '../routing/listener/listeners.ts';
import type { RoutingSettings } from '../routing/settings.ts';
import { isSameResource, type Resource, type ResourceKey } from '../xds/index.ts';
import { isNowhere } from './nowhere.ts';
import { chainKey, type PieceModel } from './piece-model.ts';
import { SETTINGS } from './pieces.ts';

type Resources = ReadonlyMap<ResourceKey, Resource | undefined>;
type Changes = readonly SinkChange<Piece>[];

export function xdsEffects(
  changes: Changes,
  current: ReadonlyMap<string, SinkValue<Piece>>,
  models?: SinkModels,
): SinkEffect[] {
  const { before, changed, patches } = resourcesOf(changes, current);
  const context: Context = {
    changes,
    values: new ModelValues(changes, models),
    fallback: fallbacksOf(changes, current),
  };
  return [
    ...patchEffects(changes.find(({ key }) => key === SETTINGS)?.before?.settings, patches),
    ...[...changed]
      .map(([key, after]) => ({ before: before.get(key), after }))
      .filter((pair) => !isSameResource(pair.before, pair.after))
      .toSorted((left, right) => compareKeys(keyOf(left), keyOf(right)))
      .flatMap((pair, at) => effectsOf(pair, context, at < MAX_VALUED)),
  ];
}

/** The patches of a configuration, and those that are left out. */
interface Patching {
  readonly specs: readonly EnvoyPatchSpec[];
  readonly before: readonly Problem[];
  readonly after: readonly Problem[];
}

/** The changed patches, and the problems of patches that are new. Their effects on resources follow. */
function patchEffects(before: RoutingSettings | undefined, { specs, ...problems }: Patching): SinkEffect[] {
  const [old, next] = [before ? (before.envoyPatches ?? []) : specs, specs].map(
    (list) => new Map(list.map((spec) => [`patch ${spec.name} of ${spec.type} ${spec.resource}`, spec])),
  ) as [Map<string, EnvoyPatchSpec>, Map<string, EnvoyPatchSpec>];
  const changed = [...new Set([...old.keys(), ...next.keys()])].flatMap((what): SinkEffect[] => {
    const [was, is] = [old.get(what), next.get(what)];
    if (equal(was, is)) return [];
    const listener = (is ?? was)?.type === 'Listener' ? DRAINS_LISTENER : undefined;
    const disturbs = (is ?? was)?.type === 'FilterChain' ? DRAINS_CHAIN : listener;
    return [{ what, change: changeOf(was, is), ...changesOf(was ?? {}, is ?? {}), ...(disturbs && { disturbs }) }];
  });
  const known = new Set(problems.before.map((problem) => problemText(problem)));
  const refused = problems.after.filter((problem) => !known.has(problemText(problem)));
  return [...changed, ...refused.map((problem): SinkEffect => ({ what: problemText(problem), change: 'added' }))];
}

/** The limit of resources with shown values: an edit of the configuration changes those of every host, in the same way. */
const MAX_VALUED = 200;

interface Context {
  readonly changes: Changes;
  readonly values: ModelValues;
  /** The chain for clients that name no host, before the changes and after them. */
  readonly fallback: { readonly before: FilterChain | undefined; readonly after: FilterChain | undefined };
}

function fallbacksOf(changes: Changes, current: ReadonlyMap<string, SinkValue<Piece>>): Context['fallback'] {
  const changed = new Map(changes.map((change) => [change.key, change]));
  const others = [...current].some(([key, { value }]) => value.fallback && !changed.has(key));
  const chainOf = (side: 'before' | 'after') => {
    const configured = changed.get(SETTINGS);
    const { settings, authorization } = (configured ? configured[side] : current.get(SETTINGS)?.value) ?? {};
    if (!settings || !(others || changes.some((change) => change[side]?.fallback))) return undefined;
    const { name = '', namespace = '' } = settings.httpproxy.fallbackCertificate ?? {};
    return fallbackChain(`${namespace}/${name}`, settings, authorization);
  };
  return { before: chainOf('before'), after: chainOf('after') };
}

/** The models of changed pieces, by the resources that are translated from them. */
class ModelValues {
  readonly #models: SinkModels | undefined;
  /** The piece of each resource. */
  readonly #pieces = new Map<string, string>();
  readonly #known = new Map<string, PieceModel>();

  constructor(changes: Changes, models: SinkModels | undefined) {
    this.#models = models;
    for (const { key, before, after } of changes)
      for (const piece of [before, after]) {
        for (const resource of [...(piece?.resources ?? []), ...(piece?.endpoints ?? [])])
          this.#pieces.set(resource.key, key);
        for (const chain of [piece?.chain, piece?.http3]) if (chain) this.#pieces.set(chainKey(chain.name), key);
      }
  }

  /** The changed values of a resource or a chain; none where the model of a side is not known. */
  changes(key: string): { changes?: readonly ValueChange[] } {
    return changesOf(this.#of('before', key), this.#of('after', key));
  }

  #of(side: 'before' | 'after', key: string): object | undefined {
    const piece = this.#pieces.get(key);
    if (piece === undefined) return undefined;
    const id = `${side} ${piece}`;
    let found = this.#known.get(id);
    if (!found) {
      found = (this.#models?.[side](piece) as PieceModel | undefined) ?? {};
      this.#known.set(id, found);
    }
    return found[key];
  }
}

function changesOf(before: unknown, after: unknown): { changes?: readonly ValueChange[] } {
  if (before === undefined || after === undefined) return {};
  return { changes: changesBetween(readable(before), readable(after), MAX_CHANGES) };
}

const MAX_CHANGES = 20;

/**
 * As people read it: authorities are text, clusters are shown apart, and the place of a value in its object is not one of its values.
 * Secrets are shown by their names alone.
 */
function readable(value: unknown): unknown {
  if (value instanceof Uint8Array) return new TextDecoder().decode(value);
  if (Array.isArray(value)) return value.map(readable);
  if (typeof value !== 'object' || value === null) return value;
  if ('kind' in value && 'name' in value && SECRETS.has(value.kind)) return value.name;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, field]: [string, unknown]): (readonly [string, unknown])[] => {
      if (HIDDEN.has(name) || field === undefined) return [];
      const isCluster = name === 'cluster' && typeof field === 'object' && field !== null && 'name' in field;
      return [[name, isCluster ? field.name : readable(field)]];
    }),
  );
}

const HIDDEN: ReadonlySet<string> = new Set(['origin', 'origins', 'keySet']);
const SECRETS: ReadonlySet<unknown> = new Set<NamedSecret['kind']>(['certificate', 'authorities', 'key']);

/** Returns all resources before the changes, and the replaced ones. */
function resourcesOf(
  changes: Changes,
  current: ReadonlyMap<string, SinkValue<Piece>>,
): { before: Resources; changed: Resources; patches: Patching } {
  const next = new Map([...current].map(([key, { value }]) => [key, value]));
  const configured = changes.find(({ key }) => key === SETTINGS)?.after;
  const first = next.get(SETTINGS);
  const last = configured ?? first;
  const pieces = (of: ReadonlyMap<string, Piece>) =>
    [...of].filter(([key]) => key !== SETTINGS).map(([key, after]) => ({ key, after }));
  const specs = last?.settings?.envoyPatches ?? [];
  const none: Patching = { specs, before: [], after: [] };
  const isServed = first?.settings !== undefined && !isNowhere(first.settings);
  const staysServed = last?.settings !== undefined && !isNowhere(last.settings);
  if (isServed) {
    const assembly = createAssembly(first.settings, first.authorization);
    const before = assembly.take(pieces(next));
    if (!staysServed)
      return { before, changed: new Map([...before.keys()].map((key) => [key, undefined])), patches: none };
    const problems = assembly.patchProblems();
    const changed = new Map([
      ...(configured?.settings ? assembly.configure(configured.settings, configured.authorization) : []),
      ...assembly.take(changes.filter(({ key }) => key !== SETTINGS)),
    ]);
    return { before, changed, patches: { specs, before: problems, after: assembly.patchProblems() } };
  }
  if (!staysServed) return { before: new Map(), changed: new Map(), patches: none };
  for (const { key, after } of changes) {
    if (after) next.set(key, after);
    else next.delete(key);
  }
  const assembly = createAssembly(last.settings, last.authorization);
  const changed = assembly.take(pieces(next));
  return { before: new Map(), changed, patches: { specs, before: [], after: assembly.patchProblems() } };
}

interface Pair {
  readonly before: Resource | undefined;
  readonly after: Resource | undefined;
}

const keyOf = ({ before, after }: Pair): ResourceKey => before?.key ?? after?.key ?? '';

/** As a request meets them. */
const ORDER = ['lds', 'rds', 'vhds', 'cds', 'eds', 'sds', 'rtds'];

function compareKeys(left: ResourceKey, right: ResourceKey): number {
  const rank = (key: ResourceKey) => ORDER.indexOf(key.slice(0, key.indexOf('/')));
  return rank(left) - rank(right) || (left < right ? -1 : 1);
}

function effectsOf(pair: Pair, context: Context, isValued: boolean): SinkEffect[] {
  const { before, after } = pair;
  const { type, name } = before ?? after ?? { type: 'rtds', name: '' };
  const change = changeOf(before, after);
  const isShown = before && after && isValued;
  const values = isShown
    ? isPatched(before) || isPatched(after)
      ? changesOf(messageOf(before), messageOf(after))
      : before.model
        ? changesOf(before.model, after.model)
        : context.values.changes(before.key)
    : {};
  switch (type) {
    case 'lds':
      return listenerEffects(name, pair, context);
    case 'rds': {
      // The hosts of a shared configuration are shown one by one.
      const isOnlyHosts = before && after && before.version('split') === after.version('split');
      return isOnlyHosts ? [] : [{ what: `route configuration ${name}`, change, ...values }];
    }
    case 'vhds': {
      const at = name.lastIndexOf('/');
      const what = `virtual host ${name.slice(at + 1)} of route configuration ${name.slice(0, at)}`;
      return [{ what, change, ...values }];
    }
    case 'cds':
      return [{ what: `cluster ${name}`, change, ...values }];
    case 'eds':
      return [{ what: `endpoints of ${name}`, change, ...values }];
    case 'sds':
      // The keys of logins have the name of their key too.
      return [{ what: `${name.split('/').length > 2 ? 'secret' : 'certificate'} ${name}`, change }];
    case 'rtds':
      return [{ what: `runtime layer ${name}`, change, ...values }];
  }
}

function changeOf(before: unknown, after: unknown): SinkEffect['change'] {
  return before === undefined ? 'added' : after === undefined ? 'removed' : 'changed';
}

const DRAINS_LISTENER = 'drains a listener';
const DRAINS_CHAIN = 'drains its connections';

/** Envoy replaces changed filter chains alone: their connections are drained, those of the others go on. */
function listenerEffects(name: string, { before, after }: Pair, context: Context): SinkEffect[] {
  const what = `listener ${name}`;
  if (!before) return [{ what, change: 'added' }];
  if (!after) return [{ what, change: 'removed', disturbs: DRAINS_LISTENER }];
  const [old, next] = [before.model, after.model] as [ListenerModel, ListenerModel];
  const others = changesOf({ ...old, chains: [] }, { ...next, chains: [] }).changes ?? [];
  return [
    ...(others.length > 0 ? [{ what, change: 'changed', changes: others, disturbs: DRAINS_LISTENER } as const] : []),
    ...(name === HTTPS_LISTENER || name === HTTP3_LISTENER
      ? hostChainEffects(name, context)
      : chainEffects(name, old, next)),
  ];
}

/** The chains of a listener that has one for each host: those of the changed pieces, and the one that all hosts share. */
function hostChainEffects(listener: string, context: Context): SinkEffect[] {
  const { changes, values } = context;
  const isTcp = listener === HTTPS_LISTENER;
  const hosts = changes.flatMap(({ before, after }) => {
    const [old, next] = isTcp ? [before?.chain, after?.chain] : [before?.http3, after?.http3];
    const name = old?.name ?? next?.name ?? '';
    if (old?.fragment.hash() === next?.fragment.hash()) return [];
    return [chainEffect(listener, name, old, next, old && next && isTcp ? values.changes(chainKey(name)) : {})];
  });
  const { before: old, after: next } = context.fallback;
  return isTcp && !equal(readable(old), readable(next))
    ? [...hosts, chainEffect(listener, (old ?? next)?.name ?? '', old, next, changesOf(old, next))]
    : hosts;
}

function chainEffects(listener: string, before: ListenerModel, after: ListenerModel): SinkEffect[] {
  const [old, next] = [chainsOf(before), chainsOf(after)];
  return [...new Set([...old.keys(), ...next.keys()])].flatMap((name) => {
    const [was, is] = [old.get(name), next.get(name)];
    if (equal(readable(was), readable(is))) return [];
    return [chainEffect(listener, name, was, is, changesOf(was, is))];
  });
}

function chainEffect(
  listener: string,
  name: string,
  before: unknown,
  after: unknown,
  more: Pick<SinkEffect, 'changes'>,
): SinkEffect {
  return {
    what: `filter chain ${name} of listener ${listener}`,
    change: changeOf(before, after),
    ...more,
    ...(before !== undefined && { disturbs: DRAINS_CHAIN }),
  };
}

function chainsOf({ chains }: ListenerModel): Map<string, FilterChain> {
  return new Map(chains.map((chain, at) => [chain.name ?? String(at), chain]));
}
