// The effects of changed pieces on Envoy, for `capstan plan`: the resources that would be sent, found by the same assembly that serves
// them.
import { changesBetween, equal, type ValueChange } from '@capstan/kube';
import type { SinkChange, SinkEffect, SinkValue } from '@capstan/reconcile';
import { decode, type Envoy, plainItems, type ResourceMessage, type ResourceType } from '../envoy/index.ts';
import { createAssembly } from '../routing/assembly/assembly.ts';
import type { Piece } from '../routing/assembly/piece.ts';
import { HTTPS_LISTENER } from '../routing/listener/filter-chain.ts';
import { isSameResource, type Resource, type ResourceKey, type Shape } from '../xds/index.ts';
import { isNowhere } from './nowhere.ts';
import { SETTINGS } from './pieces.ts';

type Resources = ReadonlyMap<ResourceKey, Resource | undefined>;

export function xdsEffects(
  changes: readonly SinkChange<Piece>[],
  current: ReadonlyMap<string, SinkValue<Piece>>,
): SinkEffect[] {
  const { before, changed } = resourcesOf(changes, current);
  const isConfigured = changes.some(({ key }) => key === SETTINGS);
  return [...changed]
    .map(([key, after]) => ({ before: before.get(key), after }))
    .filter((pair) => !isSameResource(pair.before, pair.after))
    .toSorted((left, right) => compareKeys(keyOf(left), keyOf(right)))
    .flatMap((pair, at) => effectsOf(pair, changes, isConfigured, at < MAX_VALUED));
}

/** The limit of resources with shown values: an edit of the configuration changes those of every host, in the same way. */
const MAX_VALUED = 200;

/** Returns all resources before the changes, and the replaced ones. */
function resourcesOf(
  changes: readonly SinkChange<Piece>[],
  current: ReadonlyMap<string, SinkValue<Piece>>,
): { before: Resources; changed: Resources } {
  const next = new Map([...current].map(([key, { value }]) => [key, value]));
  const configured = changes.find(({ key }) => key === SETTINGS)?.after;
  const first = next.get(SETTINGS);
  const last = configured ?? first;
  const pieces = (of: ReadonlyMap<string, Piece>) =>
    [...of].filter(([key]) => key !== SETTINGS).map(([key, after]) => ({ key, after }));
  const isServed = first?.settings !== undefined && !isNowhere(first.settings);
  const staysServed = last?.settings !== undefined && !isNowhere(last.settings);
  if (isServed) {
    const assembly = createAssembly(first.settings, first.authorization);
    const before = assembly.take(pieces(next));
    if (!staysServed) return { before, changed: new Map([...before.keys()].map((key) => [key, undefined])) };
    return {
      before,
      changed: new Map([
        ...(configured?.settings ? assembly.configure(configured.settings, configured.authorization) : []),
        ...assembly.take(changes.filter(({ key }) => key !== SETTINGS)),
      ]),
    };
  }
  if (!staysServed) return { before: new Map(), changed: new Map() };
  for (const { key, after } of changes) {
    if (after) next.set(key, after);
    else next.delete(key);
  }
  return { before: new Map(), changed: createAssembly(last.settings, last.authorization).take(pieces(next)) };
}

interface Pair {
  readonly before: Resource | undefined;
  readonly after: Resource | undefined;
}

const NO_PAIR: Pair = { before: undefined, after: undefined };

const keyOf = ({ before, after }: Pair): ResourceKey => before?.key ?? after?.key ?? '';

/** As a request meets them. */
const ORDER = ['lds', 'rds', 'vhds', 'cds', 'eds', 'sds', 'rtds'];

function compareKeys(left: ResourceKey, right: ResourceKey): number {
  const rank = (key: ResourceKey) => ORDER.indexOf(key.slice(0, key.indexOf('/')));
  return rank(left) - rank(right) || (left < right ? -1 : 1);
}

function effectsOf(
  pair: Pair,
  changes: readonly SinkChange<Piece>[],
  isConfigured: boolean,
  isValued: boolean,
): SinkEffect[] {
  const { before, after } = pair;
  const { type, name } = before ?? after ?? { type: 'rtds', name: '' };
  const change = changeOf(before, after);
  const shown = isValued ? pair : NO_PAIR;
  switch (type) {
    case 'lds':
      return listenerEffects(name, pair, changes, isConfigured);
    case 'rds': {
      // The hosts of a shared configuration are shown one by one.
      const isOnlyHosts = before && after && before.version('split') === after.version('split');
      return isOnlyHosts ? [] : [{ what: `route configuration ${name}`, change, ...values(shown, 'split') }];
    }
    case 'vhds': {
      const at = name.lastIndexOf('/');
      const what = `virtual host ${name.slice(at + 1)} of route configuration ${name.slice(0, at)}`;
      return [{ what, change, ...values(shown) }];
    }
    case 'cds':
      return [{ what: `cluster ${name}`, change, ...values(shown) }];
    case 'eds':
      return [{ what: `endpoints of ${name}`, change, ...addressChanges(shown) }];
    case 'sds':
      // The keys of logins have the name of their key too.
      return [{ what: `${name.split('/').length > 2 ? 'secret' : 'certificate'} ${name}`, change }];
    case 'rtds':
      return [{ what: `runtime layer ${name}`, change, ...values(shown) }];
  }
}

function changeOf(before: unknown, after: unknown): SinkEffect['change'] {
  return before === undefined ? 'added' : after === undefined ? 'removed' : 'changed';
}

const MAX_CHANGES = 20;

/** The message of a resource of this type, as clients get it. */
export function decoded<Type extends ResourceType>(
  _type: Type,
  resource: Resource,
  shape: Shape = 'whole',
): ResourceMessage<Type> {
  return decode('google.protobuf.Any', resource.bytes('ads', shape)) as ResourceMessage<Type>;
}

/** As people read it: certificates are text. */
function contentOf<Type extends ResourceType>(type: Type, resource: Resource, shape: Shape = 'whole') {
  return readable(decoded(type, resource, shape)) as ResourceMessage<Type>;
}

function readable(value: unknown): unknown {
  if (value instanceof Uint8Array) return new TextDecoder().decode(value);
  if (Array.isArray(value)) return value.map(readable);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, readable(field)]));
}

function values({ before, after }: Pair, shape: Shape = 'whole'): { changes?: readonly ValueChange[] } {
  if (!before || !after) return {};
  return {
    changes: changesBetween(contentOf(before.type, before, shape), contentOf(after.type, after, shape), MAX_CHANGES),
  };
}

function addressChanges({ before, after }: Pair): { changes?: readonly ValueChange[] } {
  if (!before || !after) return {};
  return {
    changes: changesBetween(contentOf('eds', before).endpoints, contentOf('eds', after).endpoints, MAX_CHANGES),
  };
}

const DRAINS_LISTENER = 'drains a listener';

/** Envoy replaces changed filter chains alone: their connections are drained, those of the others go on. */
function listenerEffects(
  name: string,
  { before, after }: Pair,
  changes: readonly SinkChange<Piece>[],
  isConfigured: boolean,
): SinkEffect[] {
  const what = `listener ${name}`;
  if (!before) return [{ what, change: 'added' }];
  if (!after) return [{ what, change: 'removed', disturbs: DRAINS_LISTENER }];
  // It is composed of the chains of all hosts: where nothing else can have changed it is not taken apart.
  const isOnlyHosts = !isConfigured && changes.every((change) => !change.before?.fallback && !change.after?.fallback);
  if (name === HTTPS_LISTENER && isOnlyHosts)
    return changes.flatMap((change) => {
      const [old, next] = [change.before?.chain, change.after?.chain];
      if (old?.fragment.hash() === next?.fragment.hash()) return [];
      return [chainEffect(name, old?.name ?? next?.name ?? '', old, next, {})];
    });
  const [old, next] = [contentOf('lds', before), contentOf('lds', after)];
  const { filter_chains: _old, ...own } = old;
  const { filter_chains: _next, ...nextOwn } = next;
  const others = changesBetween(own, nextOwn, MAX_CHANGES);
  return [
    ...(others.length === 0 ? [] : [{ what, change: 'changed', changes: others, disturbs: DRAINS_LISTENER } as const]),
    ...chainEffects(name, old, next),
  ];
}

function chainEffects(listener: string, before: Envoy.Listener, after: Envoy.Listener): SinkEffect[] {
  const [old, next] = [chainsOf(before), chainsOf(after)];
  return [...new Set([...old.keys(), ...next.keys()])].flatMap((name) => {
    const [was, is] = [old.get(name), next.get(name)];
    if (equal(was, is)) return [];
    return [chainEffect(listener, name, was, is, was && is ? { changes: changesBetween(was, is, MAX_CHANGES) } : {})];
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
    ...(before !== undefined && { disturbs: 'drains its connections' }),
  };
}

function chainsOf({ filter_chains: chains }: Envoy.Listener): Map<string, Envoy.FilterChain> {
  return new Map(plainItems(chains).map((chain, at) => [chain.name ?? String(at), chain]));
}
