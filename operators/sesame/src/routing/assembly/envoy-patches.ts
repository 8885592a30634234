// The patches of a configuration on the resources that are served. Each resource is patched by itself: a patch that does not fit it is left
// out there, and the resource is served as it was generated.
import { hash } from 'node:crypto';
import { type EnvoyPatchSpec, envoyPatchProblems, type PatchedType } from '../../configuration/envoy-patches.ts';
import { type Problem, type ProblemReason, shown } from '../../configuration/problem.ts';
import {
  decode,
  type Envoy,
  Fragment,
  type MessageName,
  RESOURCE_MESSAGES,
  RenamedFragment,
  withoutDelivery,
} from '../../envoy/index.ts';
import { createResource, type Resource, type ResourceKey } from '../../xds/index.ts';
import { hashName } from '../envoy/cluster-message.ts';
import { FILTER_CHAIN } from '../envoy/listener-message.ts';
import { FALLBACK_ROUTES, HTTP_ROUTES, secureRoutesName, VIRTUAL_HOST } from '../envoy/route-message.ts';
import { HTTP3_LISTENER, HTTPS_LISTENER } from '../listener/filter-chain.ts';
import { applyPatch, type Message, type PatchRefusal } from '../patch/apply.ts';
import type { Piece, SharedPart } from './piece.ts';

/** The result of one patch for one resource. */
export interface PatchOutcome {
  /** The place of the patch in the list. */
  readonly patch: number;
  /** As clients refuse it: the key of the resource, or of a listener with the name of a chain after a hash sign. */
  readonly target: string;
  /** The name that the patch has for it. */
  readonly resource: string;
  /** Undefined: the resource is served with the patch. */
  readonly refusal?: PatchRefusal | undefined;
}

/** The patches that Envoys have refused, with their messages: by `patchId`. */
export type WithdrawnPatches = ReadonlyMap<string, string>;

/** Names a patch on a resource by its content: an edited patch is tried again. */
export function patchId(spec: EnvoyPatchSpec, target: string): string {
  return `${hash('sha256', JSON.stringify(spec), 'hex')} ${target}`;
}

interface Usable {
  readonly index: number;
  readonly spec: EnvoyPatchSpec;
}

export class EnvoyPatches {
  readonly #specs: readonly EnvoyPatchSpec[];
  readonly #withdrawn: WithdrawnPatches;
  readonly #byTarget = new Map<string, Usable[]>();
  /** The patches without a problem of their own. */
  readonly #usable: readonly Usable[];

  constructor(specs: readonly EnvoyPatchSpec[] = [], withdrawn: WithdrawnPatches = new Map()) {
    this.#specs = specs;
    this.#withdrawn = withdrawn;
    const broken = new Set(envoyPatchProblems(specs).map(({ patch }) => patch));
    this.#usable = [...specs.entries()].flatMap(([index, spec]) => (broken.has(index) ? [] : [{ index, spec }]));
    for (const usable of this.#usable) {
      const { type, resource } = usable.spec;
      const key = `${type} ${resource}`;
      this.#byTarget.set(key, [...(this.#byTarget.get(key) ?? []), usable]);
    }
  }

  get isEmpty(): boolean {
    return this.#usable.length === 0;
  }

  /** Returns the same piece where no patch is for a part of it. */
  piece(piece: Piece, outcomes: PatchOutcome[]): Piece {
    if (this.isEmpty) return piece;
    const resources = piece.resources.map((resource) => this.resource(resource, outcomes));
    const isChanged = resources.some((resource, index) => resource !== piece.resources[index]);
    const byKey = new Map(resources.map((resource) => [resource.key, resource]));
    const host = (routes: string, part: SharedPart<typeof VIRTUAL_HOST> | undefined) => {
      const key = `vhds/${routes}/${part?.name ?? ''}`;
      const resource = isChanged ? byKey.get(key) : undefined;
      if (!part || !resource || piece.resources.includes(resource)) return part;
      const fragment = new RenamedFragment(VIRTUAL_HOST, hashName(part.name), resource.bytes('grpc', 'whole'));
      return { ...part, fragment };
    };
    const { routePart } = piece;
    const parts = {
      plain: host(HTTP_ROUTES, piece.plain),
      fallback: host(FALLBACK_ROUTES, piece.fallback),
      chain: this.#chain(HTTPS_LISTENER, piece.chain, outcomes),
      http3: this.#chain(HTTP3_LISTENER, piece.http3, outcomes),
    };
    if (!isChanged && parts.chain === piece.chain && parts.http3 === piece.http3) return piece;
    const placed = routePart && { ...routePart, part: host(routePart.routes, routePart.part) ?? routePart.part };
    return piece.with({ resources, ...parts, routePart: placed });
  }

  /** Returns the resource with its patches; the same one where none is for it. */
  resource(resource: Resource, outcomes: PatchOutcome[]): Resource {
    const { type, name, key } = resource;
    switch (type) {
      case 'cds':
        return this.#patched(resource, this.#of('Cluster', name), outcomes);
      case 'lds':
        return resource.composition ? resource : this.#patched(resource, this.#of('Listener', name), outcomes);
      case 'vhds':
        return this.#patched(resource, this.#of('VirtualHost', name), outcomes);
      case 'rds': {
        const patches = name.startsWith(secureRoutesName('')) ? this.#of('VirtualHost', name) : [];
        if (patches.length === 0) return resource;
        const message = messageOf(resource) as Envoy.RouteConfiguration;
        const [own, ...others] = message.virtual_hosts ?? [];
        const next = this.#apply(VIRTUAL_HOST, own as Message, patches, { target: key, resource: name }, outcomes);
        if (next === own) return resource;
        return replaced(resource, { ...message, virtual_hosts: [next, ...others] });
      }
      default:
        return resource;
    }
  }

  /** Returns the part of a composed listener beside its chains with its patches. */
  frame(listener: Envoy.Listener, outcomes: PatchOutcome[]): Envoy.Listener {
    const name = listener.name ?? '';
    const patches = this.#of('Listener', name);
    if (patches.length === 0) return listener;
    // The chains of all hosts are encoded already, and no patch of the listener is for them.
    const { filter_chains: chains, ...own } = listener;
    const frame = plain(own) as Message;
    const at = { target: `lds/${name}`, resource: name };
    const next = this.#apply(RESOURCE_MESSAGES.lds, frame, patches, at, outcomes);
    return next === frame ? listener : { ...next, filter_chains: chains };
  }

  /** Returns the problems for the status: at most one for each patch. */
  problems(outcomes: readonly PatchOutcome[]): Problem[] {
    return this.#usable.flatMap(({ index, spec }) => {
      const own = outcomes.filter(({ patch }) => patch === index);
      const refused = own.find(({ refusal }) => refusal);
      const path = `envoyPatches[${index}]`;
      // Several hosts may have the same cluster.
      const more = new Set(own.flatMap(({ target, refusal }) => (refusal ? target : []))).size - 1;
      if (refused?.refusal) {
        const { at, reason, message } = refused.refusal;
        const others = more > 0 ? ` (and for ${more} more)` : '';
        const place = `${spec.name} is left out for ${spec.type} ${refused.resource}${others}`;
        return [problemAt(`${path}${at}`, reason, `${place}: ${message}`)];
      }
      if (own.length > 0) return [];
      const text = `${spec.name} has no effect: no ${spec.type} is named ${shown(spec.resource)}; name one as \`sesame cli\` prints it`;
      return [problemAt(`${path}.resource`, 'NotFound', text)];
    });
  }

  /** The patch of an outcome. */
  spec({ patch }: Pick<PatchOutcome, 'patch'>): EnvoyPatchSpec | undefined {
    return this.#specs[patch];
  }

  /** Returns the places of the patches that a resource has by its name. */
  named(type: PatchedType, name: string): readonly number[] {
    return this.#of(type, name).map(({ index }) => index);
  }

  /** The last part of a cluster's name is a digest of its settings, which a patch may leave out. */
  #of(type: PatchedType, name: string): readonly Usable[] {
    const exact = this.#byTarget.get(`${type} ${name}`) ?? [];
    const own = name.slice(0, Math.max(0, name.lastIndexOf('/')));
    // `extension/default` is the beginning of the names of others, and not a name.
    if (type !== 'Cluster' || own.split('/').length < 3) return exact;
    const others = this.#byTarget.get(`${type} ${own}`);
    return others ? [...exact, ...others].toSorted((left, right) => left.index - right.index) : exact;
  }

  #patched(resource: Resource, patches: readonly Usable[], outcomes: PatchOutcome[]): Resource {
    if (patches.length === 0) return resource;
    const at = { target: resource.key, resource: resource.name };
    const message = messageOf(resource);
    const next = this.#apply(RESOURCE_MESSAGES[resource.type], message, patches, at, outcomes);
    return next === message ? resource : replaced(resource, next);
  }

  #chain(
    listener: string,
    part: SharedPart<typeof FILTER_CHAIN> | undefined,
    outcomes: PatchOutcome[],
  ): SharedPart<typeof FILTER_CHAIN> | undefined {
    if (!part) return undefined;
    const resource = `${listener}/${part.name}`;
    const patches = this.#of('FilterChain', resource);
    if (patches.length === 0) return part;
    const chain = plain(decode(FILTER_CHAIN, part.fragment.bytes('grpc'))) as Message;
    const at = { target: `lds/${listener}#${part.name}`, resource };
    const next = this.#apply(FILTER_CHAIN, chain, patches, at, outcomes);
    return next === chain ? part : { ...part, fragment: new Fragment(FILTER_CHAIN, next) };
  }

  /** Applies one patch after the other: those that do not fit are left out. */
  #apply(
    type: MessageName,
    message: Message,
    patches: readonly Usable[],
    at: Pick<PatchOutcome, 'target' | 'resource'>,
    outcomes: PatchOutcome[],
  ): Message {
    let current = message;
    for (const { index, spec } of patches) {
      const refused = isOwnListener(at.target) ? OWN_LISTENER : this.#withdrawal(spec, at.target);
      const result = refused ? undefined : applyPatch(type, current, spec);
      if (result?.isOk) current = result.value;
      const refusal = refused ?? (result?.isOk === false ? result.problem : undefined);
      outcomes.push({ patch: index, ...at, refusal });
    }
    return current;
  }

  #withdrawal(spec: EnvoyPatchSpec, target: string): PatchRefusal | undefined {
    const message = this.#withdrawn.get(patchId(spec, target));
    if (message === undefined) return undefined;
    const text = `Envoy refused it (${message.slice(0, MAX_MESSAGE)}), and the resource is served without it; correct it`;
    return { at: '', reason: 'RefusedByEnvoy', message: text };
  }
}

const MAX_MESSAGE = 300;

const OWN_LISTENERS = ['stats', 'health', 'stats-health', 'health-om-enforced', 'envoy-admin'];

const OWN_LISTENER: PatchRefusal = {
  at: '.resource',
  reason: 'Protected',
  message: 'it serves pages of Envoy itself and cannot be patched; use the fields of envoy',
};

function isOwnListener(target: ResourceKey): boolean {
  return OWN_LISTENERS.some((name) => target === `lds/${name}`);
}

function problemAt(path: string, reason: ProblemReason, message: string): Problem {
  return { severity: 'warning', type: 'PatchRefused', reason, path, message };
}

/** The message of a resource, as it is sent. */
export function messageOf(resource: Resource): Message {
  const { '@type': _type, ...message } = plain(
    decode('google.protobuf.Any', resource.bytes('grpc', 'whole')),
  ) as Message;
  return message;
}

function plain(value: object): object {
  return withoutDelivery(value);
}

const patchedResources = new WeakSet<Resource>();

/** Reports whether a resource is served with a patch. */
export function isPatched(resource: Resource): boolean {
  return patchedResources.has(resource);
}

function replaced({ type, requires, origins, model }: Resource, message: Message): Resource {
  const name = String(message['name']);
  const resource = createResource({ type, name, value: message, requires, origins, ...(model && { model }) });
  patchedResources.add(resource);
  return resource;
}
