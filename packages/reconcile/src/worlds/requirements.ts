// The kinds that a world must cache, from the declarations of all its reconcilers.
import { type Kind, kindId } from '@capstan/kube/cluster';
import {
  concernsOthers,
  LOCAL,
  makesChildren,
  type ReadDeclaration,
  type Role,
  roleOf,
  type WriteDeclaration,
} from '../reconciler.ts';
import type { FieldNeed } from './field-paths.ts';
import { writtenKinds } from './views.ts';

/** How the objects of a kind get into the world. */
export interface KindRequirement {
  readonly kind: Kind;
  /** Objects to read: all of them, those of the operator's namespace, or single ones by name. */
  readonly reads: 'all' | 'ownNamespace' | 'referenced' | undefined;
  /** Objects that carry our inventory label, for the diff; none of their own when `reads` is `all`. */
  readonly children: boolean;
  /** The only namespaces in which it is read or written, the empty one being the operator's own; undefined: all. */
  readonly namespaces?: readonly string[];
  /** The only names that are read; undefined: all. */
  readonly names?: readonly string[];
  readonly optional: boolean;
  /** Needed only by parts that can be switched off: cached while one of them is on. */
  readonly conditional: boolean;
  /** The fields that its readers use; undefined: all of them. */
  readonly fields: readonly FieldNeed[] | undefined;
  /** Field managers of programs of the same operator whose records are kept as evidence of their creations. */
  readonly managers?: readonly string[];
}

/** The declarations of a reconciler or a sink. */
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
 * The caches that a world of a role needs: the union of all declarations for that role. The widest reach wins, fields unite, and a kind is
 * optional only if every declaration makes it optional.
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
      fields: known === undefined ? wanted.fields : united(known.fields, wanted.fields),
      ...managersOf(known, wanted),
      ...(known !== undefined && known.namespaces === undefined ? {} : namespacesOf(known, wanted)),
      ...namesOf(known, wanted),
    });
  };
  for (const one of declaring) {
    isConditional = one.enabled !== undefined;
    const isIn = (each: { readonly in?: Role }) => (each.in ?? roleOf(one)) === role;
    const reads = one.reads.filter(isIn);
    const writes = (one.writes ?? []).filter(isIn);
    const resource = roleOf(one) === role ? one.resource : undefined;
    // A reconciler whose own kind may not be installed declares it so among its reads.
    const isOptional = (kind: Kind) => reads.some((read) => read.optional && kindId(read.kind) === kindId(kind));
    // Declared fields of a kind also apply where the same reconciler reconciles or writes it.
    const fieldsOf = (kind: Kind) => {
      const read = reads.find((each) => kindId(each.kind) === kindId(kind));
      return read === undefined ? {} : needOf(read);
    };
    if (resource !== undefined) need(resource, { reads: 'all', optional: isOptional(resource), ...fieldsOf(resource) });
    for (const read of reads) {
      const { kind, reach, optional, namespaces, names } = read;
      const within = { ...(namespaces && { namespaces }), ...(names && { names }) };
      const common = { ...(optional ? { optional } : {}), ...within, ...needOf(read) };
      if (reach === 'owned') need(kind, { children: true, ...common });
      else need(kind, { reads: READS[reach], ...(reach === 'inNamespace' ? OWN : {}), ...common });
    }
    for (const write of writes) {
      const { kind, createdBy, namespaces } = write;
      const within = namespaces && { namespaces };
      // A reconciler that reads a kind as optional can do without it, and writes nothing of it then.
      const optional = isOptional(kind);
      const managers = createdBy?.managers ?? [];
      if (managers.length > 0) need(kind, { optional, managers, ...within, ...fieldsOf(kind) });
      if (makesChildren(write)) need(kind, { children: true, optional, ...within, ...fieldsOf(kind) });
      if (concernsOthers(write)) need(kind, { reads: 'all', optional, ...within, ...fieldsOf(kind) });
    }
  }
  return requirements;
}

/** Those of both; none where one of them names none, which is all. */
function namespacesOf(
  known: Pick<KindRequirement, 'namespaces'> | undefined,
  { namespaces }: Pick<Partial<KindRequirement>, 'namespaces'>,
): Pick<KindRequirement, 'namespaces'> {
  if (namespaces === undefined) return {};
  return { namespaces: [...new Set([...(known?.namespaces ?? []), ...namespaces])] };
}

/** Those of both; none where one of them reads and names none, which is all. */
function namesOf(...needs: readonly (Partial<KindRequirement> | undefined)[]): Pick<KindRequirement, 'names'> {
  const reading = needs.filter((need) => need?.reads !== undefined);
  if (reading.length === 0 || reading.some((need) => need?.names === undefined)) return {};
  return { names: [...new Set(reading.flatMap((need) => need?.names ?? []))] };
}

function managersOf(...needs: readonly (Pick<KindRequirement, 'managers'> | undefined)[]) {
  const managers = [...new Set(needs.flatMap((need) => need?.managers ?? []))];
  return managers.length === 0 ? {} : { managers };
}

/** The whole object, unless the declaration names less. */
function needOf({ fields, labels }: ReadDeclaration): Pick<Partial<KindRequirement>, 'fields'> {
  if (fields === undefined && labels === undefined) return {};
  return { fields: [{ ...(fields && { paths: fields }), ...(labels && { labels }) }] };
}

function united(left: KindRequirement['fields'], right: KindRequirement['fields']): KindRequirement['fields'] {
  if (left === undefined || right === undefined) return undefined;
  return [...new Map([...left, ...right].map((need) => [JSON.stringify(need), need])).values()];
}

/** The operator's own namespace, whose name is not known here. */
const OWN = { namespaces: [''] };
const READS = { everywhere: 'all', inNamespace: 'ownNamespace', referenced: 'referenced' } as const;

/** Single objects anywhere and all of one namespace are no part of each other: together they are all. */
function widest(left: KindRequirement['reads'], right: KindRequirement['reads']): KindRequirement['reads'] {
  if (left === undefined || right === undefined) return left ?? right;
  return left === right ? left : 'all';
}

/** One that brings its schema, if any does, and of several the one with the most aliases. */
function richer(known: Kind | undefined, kind: Kind): Kind {
  if (known === undefined || !('schema' in known)) return kind;
  return writtenKinds(kind).length > writtenKinds(known).length ? kind : known;
}
