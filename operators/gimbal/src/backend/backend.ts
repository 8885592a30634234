// The effective fields of a backend and the owner of its name, as derivations that every reconciler of Gimbal reads.
import { type ObjectRef, refOfKey } from '@capstan/kube';
import { derivation, index } from '@capstan/reconcile';
import { DiscoveryBackend, type EffectiveBackend } from '../kinds/index.ts';
import type { Fault } from './fields.ts';
import { type Claim, describeClaim, overlapsOf, winnerOf } from './names.ts';
import { normalise } from './normalize.ts';

/** A backend's fields as they are in force. */
export interface BackendFields {
  /** undefined: they never were right, so nothing is in force. */
  readonly effective: EffectiveBackend | undefined;
  /** The current faults. While there are any, the previous effective fields stay in force. */
  readonly faults: readonly Fault[];
}

/** By the key of the object. */
export const backendFields = derivation({
  name: 'fields of a backend',
  compute({ key, read }): BackendFields {
    const ref = refOfKey(key);
    const written = read.get(DiscoveryBackend, ref, writtenOf);
    if (written === undefined) return { effective: undefined, faults: [] };
    const { effective, faults } = normalise(written);
    const before = read.get(DiscoveryBackend, ref, acceptedOf);
    if (effective === undefined) return { effective: before, faults };
    if (before !== undefined && before.type !== effective.type) {
      const message = `a backend does not change its type: it is ${before.type}; create another one for ${effective.type}`;
      return { effective: before, faults: [{ path: 'type', message }] };
    }
    return { effective, faults };
  },
});

const writtenOf = (backend: DiscoveryBackend) => {
  const { metadata, spec, cluster, writtenAs } = backend;
  return {
    metadata: { name: metadata.name },
    ...(spec === undefined ? {} : { spec }),
    ...(cluster === undefined ? {} : { cluster }),
    ...(writtenAs === undefined ? {} : { writtenAs }),
  };
};

/** Returns the fields that were in force before. The status stores them, so that a typo changes nothing after a restart either. */
const acceptedOf = ({ status }: DiscoveryBackend) => status?.effective;

export const backendsByName = index(DiscoveryBackend, 'name of a backend', ({ metadata }) =>
  metadata.name === undefined ? [] : [metadata.name],
);

/** The backend that has a name. */
export interface NamedBackend {
  readonly claim: Claim;
  readonly ref: ObjectRef & { namespace: string };
  readonly isDeleting: boolean;
  readonly effective: EffectiveBackend | undefined;
}

/** By name; undefined when no backend has it. */
export const backendNamed = derivation({
  name: 'backend of a name',
  compute({ key: name, read }): NamedBackend | undefined {
    const claim = winnerOf(read.by(backendsByName, name, claimOf));
    if (claim === undefined) return undefined;
    const { namespace, isDeleting, ...rest } = claim;
    const { effective } = read.derived(backendFields, `${namespace}/${name}`);
    return { claim: { ...rest, namespace }, ref: { namespace, name }, isDeleting, effective };
  },
});

const claimOf = ({ metadata, writtenAs }: DiscoveryBackend): Claim & { isDeleting: boolean } => ({
  kind: writtenAs ?? DiscoveryBackend.kind,
  namespace: metadata.namespace ?? '',
  name: metadata.name ?? '',
  uid: metadata.uid ?? '',
  creationTimestamp: metadata.creationTimestamp ?? '',
  isDeleting: metadata.deletionTimestamp !== undefined,
});

/** Whether a backend is accepted, and if not, why. */
export type Acceptance =
  | { readonly isAccepted: true; readonly overlaps: readonly string[] }
  | {
      readonly isAccepted: false;
      readonly reason: 'DuplicateName' | 'InvalidName' | 'InvalidSpec';
      readonly message: string;
    };

/** By the key of the object. */
export const acceptance = derivation({
  name: 'acceptance of a backend',
  compute({ key, read }): Acceptance {
    const { name, namespace = '' } = refOfKey(key);
    const winner = read.derived(backendNamed, name);
    if (winner !== undefined && winner.ref.namespace !== namespace)
      return {
        isAccepted: false,
        reason: 'DuplicateName',
        message: `the name belongs to ${describeClaim(winner.claim)}, which is older; names of backends are unique over all namespaces`,
      };
    const { faults } = read.derived(backendFields, key);
    const [first] = faults;
    if (first === undefined)
      return { isAccepted: true, overlaps: overlapsOf(name, read.list(DiscoveryBackend, {}, nameOf)) };
    const reason = first.path === 'metadata.name' ? 'InvalidName' : 'InvalidSpec';
    return { isAccepted: false, reason, message: faults.map(({ path, message }) => `${path}: ${message}`).join('; ') };
  },
});

const nameOf = ({ metadata }: DiscoveryBackend) => metadata.name ?? '';
