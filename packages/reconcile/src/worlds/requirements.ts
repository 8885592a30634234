// What a world must cache, from what all its reconcilers declare.
import { type Kind, type KubeObject, kindId } from '@capstan/kube';
import { LOCAL, type ReadDeclaration, type Role, roleOf, type WriteDeclaration } from '../reconciler.ts';

/** How the objects of a kind get into the world. */
export interface KindRequirement {
  readonly kind: Kind;
  /** Objects to read: all of them, those of the operator's namespace, or single ones by name. */
  readonly reads: 'all' | 'ownNamespace' | 'referenced' | undefined;
  /** Objects that carry our inventory label, for the diff; none of their own when `reads` is `all`. */
  readonly children: boolean;
  readonly optional: boolean;
  /** Needed only by parts that can be switched off: cached while one of them is on. */
  readonly conditional: boolean;
  readonly trim: ((object: KubeObject) => KubeObject) | undefined;
}

/** What a reconciler or a sink declares. */
export interface Declaring {
  readonly resource?: Kind;
  readonly in?: Role;
  /** Present: the part can be switched off. */
  readonly enabled?: unknown;
  readonly reads: readonly ReadDeclaration[];
  readonly writes?: readonly WriteDeclaration[];
}

/** Every role that is named. */
export function rolesOf(declaring: readonly Declaring[]): readonly Role[] {
  const named = declaring.flatMap((one) => [
    roleOf(one),
    ...[...one.reads, ...(one.writes ?? [])].map((each) => each.in ?? roleOf(one)),
  ]);
  return [...new Set(named)];
}

/**
 * What a world of a role must cache: the union of all declarations for that role. The widest reach wins; a trim counts only if every reader of the kind has the same; a kind
 * is optional only if nobody needs it.
 */
export function requirementsOf(declaring: readonly Declaring[], role: Role = LOCAL): Map<string, KindRequirement> {
  const requirements = new Map<string, KindRequirement>();
  let isConditional = false;
  const need = (kind: Kind, wanted: Partial<Omit<KindRequirement, 'kind' | 'conditional'>>) => {
    const id = kindId(kind);
    const known = requirements.get(id);
    requirements.set(id, {
      kind: richer(known?.kind, kind),
      reads: widest(known?.reads, wanted.reads),
      children: (known?.children ?? false) || (wanted.children ?? false),
      optional: (known?.optional ?? true) && (wanted.optional ?? false),
      conditional: (known?.conditional ?? true) && isConditional,
      trim: known === undefined || known.trim === wanted.trim ? wanted.trim : undefined,
    });
  };
  for (const one of declaring) {
    isConditional = one.enabled !== undefined;
    const isIn = (each: { readonly in?: Role }) => (each.in ?? roleOf(one)) === role;
    const reads = one.reads.filter(isIn);
    const writes = (one.writes ?? []).filter(isIn);
    const resource = roleOf(one) === role ? one.resource : undefined;
    // A reconciler whose own kind may not be installed says so among its reads.
    const isOptional = (kind: Kind) => reads.some((read) => read.optional && kindId(read.kind) === kindId(kind));
    // Whoever says how a kind is trimmed reconciles and writes it so, too.
    const trimOf = (kind: Kind) => {
      const trim = reads.find((read) => kindId(read.kind) === kindId(kind))?.trim;
      return trim ? { trim } : {};
    };
    if (resource !== undefined) need(resource, { reads: 'all', optional: isOptional(resource), ...trimOf(resource) });
    for (const { kind, reach, optional, trim } of reads) {
      const common = { ...(optional ? { optional } : {}), ...(trim ? { trim } : {}) };
      if (reach === 'owned') need(kind, { children: true, ...common });
      else need(kind, { reads: READS[reach], ...common });
    }
    for (const { kind, what } of writes) {
      // Whoever reads a kind as optional can do without it, and writes nothing of it then.
      const optional = isOptional(kind);
      if (what !== 'others') need(kind, { children: true, optional, ...trimOf(kind) });
      if (what !== 'children') need(kind, { reads: 'all', optional, ...trimOf(kind) });
    }
  }
  return requirements;
}

const READS = { everywhere: 'all', inNamespace: 'ownNamespace', referenced: 'referenced' } as const;

/** Single objects anywhere and all of one namespace are no part of each other: together they are all. */
function widest(left: KindRequirement['reads'], right: KindRequirement['reads']): KindRequirement['reads'] {
  if (left === undefined || right === undefined) return left ?? right;
  return left === right ? left : 'all';
}

/** One that brings its schema and aliases, if any does. */
function richer(known: Kind | undefined, kind: Kind): Kind {
  return known !== undefined && 'schema' in known ? known : kind;
}
