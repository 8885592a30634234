// Computes the writes that are left for one unit of children known by label. Pure: the writer of the runtime carries them out.
import { type Kind, type KubeObject, kindId, Namespace, refOf, refOfKey } from '@capstan/kube/cluster';
import {
  type CreateWrite,
  type DeleteWrite,
  type MergeWrite,
  NOTHING,
  type PendingGroup,
  type WriteSet,
} from '../diff/index.ts';
import { allows, type Claimant, decide } from '../ownership/index.ts';
import type { LabelledChild, LabelledDefinition, Obstacle, Wanted, WantedChild } from './definition.ts';

export interface DifferenceInput<D> {
  readonly unit: string;
  readonly wanted: Wanted;
  readonly children: readonly LabelledChild<D>[];
  /** An object of a child's name that the copy of our own does not hold. */
  met(kind: Kind, name: string): LabelledChild<D> | undefined;
  digestOf(wanted: KubeObject): string;
  readonly namespace: NamespaceState;
  readonly createsNamespaces: boolean;
}

export type NamespaceState = 'there' | 'missing' | 'going' | 'unknown';

export interface Difference {
  /** In the order in which they go out: each group waits for the one before. */
  readonly writes: readonly PendingGroup[];
  readonly removals: readonly PendingGroup[];
  readonly obstacle: Obstacle | undefined;
}

const NO_DIFFERENCE: Difference = { writes: [], removals: [], obstacle: undefined };

export function difference<D>(
  definition: Pick<LabelledDefinition<never, never, D>, 'tiers' | 'fieldManager' | 'patchTo' | 'created'>,
  input: DifferenceInput<D>,
): Difference {
  const { wanted, children } = input;
  if (wanted.state === 'kept') return NO_DIFFERENCE;
  const planned = wanted.state === 'present' ? wanted.children : [];
  const writes: PendingGroup[] = [];
  let obstacle: Obstacle | undefined;
  for (const tier of definition.tiers) {
    if (obstacle !== undefined) break;
    const kinds = new Set(tier.map(({ kind }) => kindId(kind)));
    const ofTier: (CreateWrite | MergeWrite)[] = [];
    for (const child of planned) {
      if (!kinds.has(kindId(child.kind))) continue;
      const verdict = childVerdict(definition, child, input);
      if (verdict === undefined) continue;
      if ('verb' in verdict) ofTier.push(verdict);
      else obstacle ??= verdict;
    }
    if (ofTier.length > 0) writes.push(group('children', ofTier));
  }
  // Beyond the first group nothing goes out before it is done, so the namespace comes first of all.
  if (writes.length > 0 && (input.namespace === 'missing' || input.namespace === 'going')) {
    const { namespace = '' } = refOfKey(input.unit);
    const isMade = input.createsNamespaces && input.namespace === 'missing';
    if (isMade) writes.unshift(group('namespace', [namespaceWrite(namespace)]));
    else return { writes: [], removals: [], obstacle: { what: 'namespace', namespace, happened: false } };
  }
  return { writes, removals: removals(definition, children, planned), obstacle };
}

/** Returns the writes for the runtime's writer, without removals where they may not happen now. */
export function writeSet({ writes, removals: going }: Difference, mayRemove: boolean, inventory: number): WriteSet {
  const groups = mayRemove ? [...writes, ...going] : writes;
  return groups.length === 0 ? NOTHING : { ...NOTHING, groups, inventory };
}

function childVerdict<D>(
  { patchTo }: Pick<LabelledDefinition<never, never, D>, 'patchTo'>,
  { kind, object }: WantedChild,
  input: DifferenceInput<D>,
): CreateWrite | MergeWrite | Obstacle | undefined {
  const { name = '' } = object.metadata;
  const ref = refOf(object);
  const known = input.children.find((child) => child.kind === kind.kind && child.metadata.name === name);
  const existing = known ?? input.met(kind, name);
  if (existing === undefined) return { verb: 'create', may: CREATION, kind, ref, body: object, unseen: 'judged' };
  const { digest, update: may, claim = 'is not ours', metadata } = existing;
  if (may === undefined) return { what: 'taken', kind, claim };
  if (digest === input.digestOf(object)) return undefined;
  const { uid = '', resourceVersion = '' } = metadata;
  return { verb: 'merge', may, kind, ref, uid, resourceVersion, patch: patchTo(object, existing) };
}

/** Removes the last tier first, so that no dependents of a removed object are left. */
function removals<D>(
  { tiers, created }: Pick<LabelledDefinition<never, never, D>, 'tiers' | 'created'>,
  children: readonly LabelledChild<D>[],
  planned: readonly WantedChild[],
): PendingGroup[] {
  const kept = new Set(planned.map(({ kind, object }) => `${kind.kind}/${object.metadata.name}`));
  const going = children.filter(
    ({ removal, kind, metadata }) => removal !== undefined && !kept.has(`${kind}/${metadata.name}`),
  );
  if (going.length === 0) return [];
  return tiers.toReversed().flatMap((tier) => {
    const writes = tier.flatMap(({ kind }) =>
      going.filter((child) => child.kind === kind.kind).map((child) => deleteWrite(kind, child, created)),
    );
    return writes.length === 0 ? [] : [group('removals', writes)];
  });
}

function deleteWrite(
  kind: Kind,
  child: LabelledChild,
  created: LabelledDefinition<never, never, never>['created'],
): DeleteWrite {
  const { uid = '', resourceVersion } = child.metadata;
  if (child.removal === undefined) throw new TypeError('nothing is removed without a permit');
  return {
    verb: 'delete',
    may: child.removal,
    kind,
    ref: refOf(child),
    uid,
    ...(resourceVersion !== undefined && { resourceVersion }),
    because: 'removed',
    intent: { mode: 'remove', uid, provenance: created },
    claimant: NO_CLAIMANT,
  };
}

function namespaceWrite(name: string): CreateWrite {
  const body = { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
  return { verb: 'create', may: CREATION, kind: Namespace, ref: { name }, body, unseen: 'refused' };
}

/** There is no owner: a label and its evidence stand for it. */
export const NO_CLAIMANT: Claimant = { inventory: '', described: '', uid: undefined, manager: '' };

/** A child that the copy does not show is created. The server refuses that where an object has the name, and this object is judged. */
const CREATION = creation();

function creation(): CreateWrite['may'] {
  const decision = decide({ mode: 'createOnly' }, undefined, NO_CLAIMANT);
  if (allows(decision, 'create')) return decision.may;
  throw new TypeError('an object that is absent may be created');
}

function group(name: string, writes: PendingGroup['writes']): PendingGroup {
  return { name, writes, quietMs: 0, quietAtCreation: false, preflight: false, open: true, waitingFor: undefined };
}
