// The credentials of a backend from one state to the next:
//
//   stable ──(other content, reference or address)──► settled ──► verified by a fresh login ──► due ──► copied ──► in force
//                                                                     │ refused: the credentials in force stay
//                                                                     └ not due yet: pending, and verified again when it is
//
// The credentials in force are a copy that never changes. A discoverer that restarts finds the verified content, even if the Secret has
// changed. One earlier copy is kept.
import { Secret } from '@capstan/kube';
import { type Child, createOnly, type Digest, keep, type Reader, sameDigest } from '@capstan/reconcile';
import type { CredentialsStatus, EffectiveBackend } from '../kinds/index.ts';
import { GROUP } from '../kinds/index.ts';
import { dueOf } from '../schedule/window.ts';
import { copyName } from './hash.ts';
import { credentialsIn, dataOf, type SecretData } from './secret-data.ts';
import { type Login, type LoginAttempt, type Outcome, outcomeOf, type Verification } from './verifier.ts';

export interface RotationInput {
  readonly read: Reader;
  readonly digest: Digest;
  readonly verification: Verification;
  readonly backend: { readonly namespace: string; readonly name: string };
  readonly effective: EffectiveBackend;
  /** Undefined before the first. */
  readonly inForce: CredentialsStatus | undefined;
  /** The remote side no longer accepts the credentials in force. */
  readonly isRefused: boolean;
  /** The value of the annotation that asks for a change at once. */
  readonly rotateNow: string | undefined;
  /** Any moment that has come. */
  readonly since: number;
}

export type Rotation = {
  /** Copies that there should be, and the data that is to come into force with the first of them. */
  readonly copies: readonly Child[];
} & (
  | { readonly state: 'missing'; readonly source: string }
  | { readonly state: 'invalid'; readonly source: string; readonly message: string }
  | { readonly state: 'stable'; readonly source: string; readonly hash: string; readonly data: SecretData }
  | { readonly state: 'settling'; readonly source: string; readonly hash: string }
  | { readonly state: 'refused'; readonly source: string; readonly hash: string; readonly outcome: Refusal }
  | { readonly state: 'scheduled'; readonly source: string; readonly hash: string; readonly at: number | undefined }
  | { readonly state: 'copying'; readonly source: string; readonly hash: string }
  | { readonly state: 'adopted'; readonly hash: string; readonly next: Adopted }
);

export type Refusal = Exclude<Outcome, { what: 'good' }> | { readonly what: 'WrongCluster'; readonly message: string };

/** The record of the credentials in force, without the time. */
export interface Adopted {
  readonly copy: string;
  readonly source: string;
  readonly endpoint: string | undefined;
  readonly identity: string | undefined;
  readonly data: SecretData;
}

export const COPIED_FROM = `${GROUP}/copied-from`;

export function rotationOf(input: RotationInput): Rotation {
  const { read, digest, backend, effective, inForce } = input;
  const source = sourceOf(input);
  const kept = keptCopies(input);
  const secret = read.get(Secret, { namespace: backend.namespace, name: source }, dataOf);
  if (secret === undefined) return { state: 'missing', source, copies: kept };
  const found = credentialsIn(effective.type, secret);
  if ('fault' in found) return { state: 'invalid', source, message: found.fault, copies: kept };
  const data = found.value;
  const { endpoint } = effective;
  const hash = digest(effective.type, endpoint ?? null, data);
  if (inForce !== undefined && sameDigest(inForce.digest ?? inForce.hash, hash)) {
    // A user may have deleted the copy: it is recreated unchanged.
    const copies = [copyOf(input, inForce.copy, source, data), ...kept.slice(1)];
    return { state: 'stable', source, hash, data, copies };
  }

  if (inForce !== undefined && !isSettled(read, inForce, hash))
    return { state: 'settling', source, hash, copies: kept };
  const login: Login = { type: effective.type, data, endpoint };
  const first = verified(input, { login, round: 'first' });
  if (first.what !== 'good') return { state: 'refused', source, hash, outcome: first, copies: kept };
  if (inForce !== undefined && isScheduled(effective)) {
    const due = isUrgent(input) ? ({ isDue: true } as const) : dueOf(read, effective.rotation, input.since);
    if (!due.isDue) return { state: 'scheduled', source, hash, at: due.at, copies: kept };
    // Much may have happened since the first look.
    const again = verified(input, { login, round: 'cutover' });
    if (again.what !== 'good') return { state: 'refused', source, hash, outcome: again, copies: kept };
  }
  const copy = copyName(backend.name, hash);
  const copies = [copyOf(input, copy, source, data), ...kept.filter(({ ref }) => ref.name !== copy)];
  const isCopied = read.get(Secret, { namespace: backend.namespace, name: copy }, isThere) === true;
  if (!isCopied) return { state: 'copying', source, hash, copies };
  const identity = first.identity ?? inForce?.identity;
  return { state: 'adopted', hash, next: { copy, source, endpoint, identity, data }, copies };
}

const isThere = () => true;

/** A burst of edits is one change: new credentials count once they have been the same for this long. */
const QUIET_MS = 3_000;

function isSettled(read: Reader, { candidate }: CredentialsStatus, hash: string): boolean {
  return candidate?.hash === hash && read.reached(Date.parse(candidate.since) + QUIET_MS);
}

/** The Secret that counts: the next one from its time on, and then for good. */
function sourceOf({ read, effective, inForce, since }: RotationInput): string {
  const next = effective.rotation?.secret;
  if (next === undefined || next === effective.secret) return effective.secret;
  // Before anything is in force nothing is changed: the next one counts only if its time has come.
  if (inForce === undefined) return dueOf(read, effective.rotation, since).isDue ? next : effective.secret;
  return next;
}

function isScheduled({ rotation }: EffectiveBackend): boolean {
  return rotation?.notBefore !== undefined || rotation?.window !== undefined;
}

/** Each value of the annotation is followed once; and nothing is gained by waiting with credentials that do not work. */
function isUrgent({ rotateNow, inForce, isRefused }: RotationInput): boolean {
  return isRefused || (rotateNow !== undefined && rotateNow !== 'false' && rotateNow !== inForce?.rotatedBy);
}

function verified(
  { read, verification, inForce }: RotationInput,
  attempt: LoginAttempt,
): Refusal | { readonly what: 'good'; readonly identity: string | undefined } {
  const outcome = outcomeOf(read.fact(verification, attempt));
  if (outcome.what !== 'good') return outcome;
  const [was, is] = [inForce?.identity, outcome.identity];
  if (was === undefined || is === undefined || was === is) return outcome;
  return {
    what: 'WrongCluster',
    message: `they lead to another cluster (${is}) than before (${was}): everything that was discovered would be replaced; correct the Secret, or create another backend for that cluster`,
  };
}

function keptCopies({ backend: { namespace }, inForce }: RotationInput): Child[] {
  const names = [inForce?.copy, inForce?.previous].filter((name) => name !== undefined);
  return names.map((name) => keep(Secret, { namespace, name }));
}

function copyOf({ backend, effective }: RotationInput, name: string, source: string, data: SecretData): Child {
  return createOnly(Secret, {
    metadata: {
      namespace: backend.namespace,
      name,
      labels: { app: `${effective.type}-discoverer`, cluster: backend.name },
      annotations: { [COPIED_FROM]: source },
    },
    type: 'Opaque',
    immutable: true,
    data: { ...data },
  });
}
