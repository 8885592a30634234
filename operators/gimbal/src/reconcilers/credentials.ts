// The credentials of a backend: whether they are good, which are in force, and which are pending.
import { formatTime, keyOfObject, Secret } from '@capstan/kube';
import {
  type ConditionInput,
  conditionType,
  type EventInput,
  noCondition,
  plan,
  type Reader,
  type Reconciler,
  reconciler,
  writing,
} from '@capstan/reconcile';
import { acceptance, backendFields } from '../backend/backend.ts';
import { expiryOf } from '../credentials/expiry.ts';
import { shortHash } from '../credentials/hash.ts';
import { type Refusal, type Rotation, rotationOf } from '../credentials/rotation.ts';
import { backendNameIn, dataOf } from '../credentials/secret-data.ts';
import type { Verification } from '../credentials/verifier.ts';
import { type CredentialsStatus, DiscoveryBackend, type EffectiveBackend, GROUP } from '../kinds/index.ts';
import { createdAt, latestMoment } from '../schedule/moments.ts';

/** Asks for a change at once, whatever the window: each value once. */
export const ROTATE_NOW = `${GROUP}/rotate-now`;

export const credentialsValid = conditionType<
  | 'Verified'
  | 'ExpiresSoon'
  | 'Expired'
  | 'BackendNameMismatch'
  | 'SecretMissing'
  | 'SecretInvalid'
  | 'AuthFailed'
  | 'Unreachable'
  | 'WrongCluster'
  | 'RotationFailed'
>('CredentialsValid');
export const rotationPending = conditionType<'Stable' | 'Verifying' | 'Scheduled' | 'CuttingOver' | 'Refused'>(
  'RotationPending',
);

export function createCredentialsReconciler(verification: Verification): Reconciler {
  return reconciler<DiscoveryBackend>({
    name: 'credentials',
    resource: DiscoveryBackend,
    reads: [Secret],
    writes: [writing(Secret, 'createOnly')],
    primary: false,
    reconcile({ object, read, digest }) {
      const key = keyOfObject(object);
      const { name = '', namespace = '', creationTimestamp = '', annotations } = object.metadata;
      const verdict = read.derived(acceptance, key);
      const { effective } = read.derived(backendFields, key);
      const isLoser = !verdict.isAccepted && verdict.reason === 'DuplicateName';
      if (isLoser || effective === undefined)
        // Whatever there may be belongs to a configuration that was right: it stays.
        return plan({
          held: false,
          prune: isLoser,
          conditions: [noCondition('CredentialsValid'), noCondition('RotationPending')],
        });

      const ref = { namespace, name };
      const inForce = read.get(DiscoveryBackend, ref, inForceOf);
      const reported = read.get(DiscoveryBackend, ref, reportedOf);
      const isOurs = inForce !== undefined && reported?.credentials === shortHash(inForce.hash);
      const refusal = isOurs ? reported.refusal : undefined;
      const since = createdAt(creationTimestamp);
      const rotation = rotationOf({
        read,
        digest,
        verification,
        backend: ref,
        effective,
        inForce,
        isRefused: refusal !== undefined,
        rotateNow: annotations?.[ROTATE_NOW],
        since,
      });
      const now = () => formatTime(latestMoment(read, since, 1000));
      const next = nextStatus(rotation, inForce, annotations?.[ROTATE_NOW], now, effective.type);
      const labelled = labelledName(read, namespace, rotation);
      return plan({
        held: false,
        children: rotation.copies,
        ...(next === undefined ? {} : { status: { credentials: next } }),
        conditions: [
          validity(
            rotation,
            next ?? inForce,
            refusal,
            labelled !== undefined && labelled !== name ? labelled : undefined,
            read,
          ),
          pendingOf(rotation, inForce, reported, effective),
        ],
        events: eventsOf(rotation, inForce),
      });
    },
  });
}

const inForceOf = ({ status }: DiscoveryBackend): CredentialsStatus | undefined => status?.credentials;

/** Returns the discoverer's report about the credentials that it runs with. */
const reportedOf = ({ status }: DiscoveryBackend) => {
  const refused = status?.discovery?.errors?.find(({ type }) => type === 'AuthFailed');
  return { credentials: status?.discovery?.credentials, refusal: refused?.message };
};

function nextStatus(
  rotation: Rotation,
  inForce: CredentialsStatus | undefined,
  rotateNow: string | undefined,
  now: () => string,
  type: 'kubernetes' | 'openstack',
): CredentialsStatus | undefined {
  if (rotation.state === 'adopted') {
    const { copy, source, endpoint, identity, data } = rotation.next;
    const expires = expiryOf(type, data);
    return {
      hash: rotation.hash,
      digest: rotation.hash,
      copy,
      source,
      ...(endpoint === undefined ? {} : { endpoint }),
      ...(identity === undefined ? {} : { identity }),
      since: now(),
      ...(expires === undefined ? {} : { expires: formatTime(expires) }),
      ...(inForce === undefined || inForce.copy === copy ? {} : { previous: inForce.copy }),
      rotations: inForce === undefined ? 0 : (inForce.rotations ?? 0) + 1,
      failures: inForce?.failures ?? 0,
      ...(rotateNow === undefined ? {} : { rotatedBy: rotateNow }),
    };
  }
  if (inForce === undefined) return undefined;
  if (rotation.state === 'stable') {
    const { refused: _refused, candidate: _candidate, ...kept } = inForce;
    return { ...kept, digest: rotation.hash, source: rotation.source };
  }
  if (rotation.state === 'settling' && inForce.candidate?.hash !== rotation.hash)
    return { ...inForce, candidate: { hash: rotation.hash, since: now() } };
  if (rotation.state === 'refused' && inForce.refused !== rotation.hash)
    return { ...inForce, refused: rotation.hash, failures: (inForce.failures ?? 0) + 1 };
  return inForce;
}

/** The backend that the Secret names, if it names one. */
function labelledName(read: Reader, namespace: string, rotation: Rotation): string | undefined {
  const source = rotation.state === 'adopted' ? rotation.next.source : rotation.source;
  const data = read.get(Secret, { namespace, name: source }, dataOf);
  return data === undefined ? undefined : backendNameIn(data);
}

const DAY_MS = 86_400_000;
/** Days before the expiry at which a warning is reported. */
const WARNINGS = [3, 14] as const;

function validity(
  rotation: Rotation,
  inForce: CredentialsStatus | undefined,
  refusal: string | undefined,
  otherName: string | undefined,
  read: Reader,
): ConditionInput {
  const goesOn = inForce === undefined ? '' : '; the discoverer continues with its current credentials';
  switch (rotation.state) {
    case 'missing':
      return credentialsValid.isFalse('SecretMissing', `there is no Secret ${rotation.source}: create it${goesOn}`);
    case 'invalid':
      return credentialsValid.isFalse(
        'SecretInvalid',
        `the Secret ${rotation.source} cannot be used: ${rotation.message}${goesOn}`,
      );
    case 'refused':
      return refusedCondition(rotation.source, rotation.outcome, inForce);
    default:
  }
  if (refusal !== undefined) return credentialsValid.isFalse('AuthFailed', refusal);
  const { expires } = inForce ?? {};
  const end = expires === undefined ? undefined : Date.parse(expires);
  if (end !== undefined && read.reached(end))
    return credentialsValid.isFalse('Expired', `the credentials in the Secret ended at ${expires}: renew them`);
  const days = WARNINGS.find((each) => end !== undefined && read.reached(end - each * DAY_MS));
  if (days !== undefined)
    return credentialsValid.isTrue(
      'ExpiresSoon',
      `the credentials end at ${expires}, in less than ${days} days: renew them`,
    );
  if (otherName !== undefined)
    return credentialsValid.isTrue(
      'BackendNameMismatch',
      `the Secret is labelled for the backend "${otherName.slice(0, 63)}"; the name of the object counts`,
    );
  if (inForce === undefined) return credentialsValid.isTrue('Verified', 'they are taken into use');
  return credentialsValid.isTrue('Verified', '');
}

function refusedCondition(
  source: string,
  { what, message }: Refusal,
  inForce: CredentialsStatus | undefined,
): ConditionInput {
  const text = `the credentials in the Secret ${source} are not used: ${message}`;
  if (inForce === undefined) return credentialsValid.isFalse(what, text);
  const kept = `${text}; the discoverer continues with its current ones`;
  return credentialsValid.isFalse(what === 'WrongCluster' ? 'WrongCluster' : 'RotationFailed', kept);
}

function pendingOf(
  rotation: Rotation,
  inForce: CredentialsStatus | undefined,
  reported: ReturnType<typeof reportedOf> | undefined,
  { secret, rotation: { secret: next } = {} }: EffectiveBackend,
): ConditionInput {
  switch (rotation.state) {
    case 'scheduled': {
      const when = rotation.at === undefined ? 'no time is known' : `at ${formatTime(rotation.at)}`;
      return rotationPending.isTrue(
        'Scheduled',
        `the credentials in the Secret ${rotation.source} are good and come into force ${when}; the annotation ${ROTATE_NOW} brings that forward`,
      );
    }
    case 'settling':
      return rotationPending.isTrue('Verifying', `the credentials in the Secret ${rotation.source} are tried out`);
    case 'refused':
    case 'invalid':
      if (inForce === undefined) break;
      return rotationPending.isTrue('Refused', `the Secret ${rotation.source} is tried again; see CredentialsValid`);
    case 'copying':
    case 'adopted':
      return rotationPending.isTrue('CuttingOver', 'a discoverer with the new credentials is started');
    case 'stable': {
      const isOld = reported?.credentials !== undefined && reported.credentials !== shortHash(inForce?.hash ?? '');
      if (!isOld || inForce?.previous === undefined) break;
      return rotationPending.isTrue(
        'CuttingOver',
        'the discoverer with the new credentials compares both sides; the previous one continues meanwhile',
      );
    }
    default:
  }
  // A user who edits the one should not have to know about the other.
  const isNext = rotation.state === 'stable' && next !== undefined && next !== secret;
  return rotationPending.isFalse(
    'Stable',
    isNext ? `the Secret ${next} of rotation.secret counts; remove that field when ${secret} should count again` : '',
  );
}

function eventsOf(rotation: Rotation, inForce: CredentialsStatus | undefined): EventInput[] {
  if (rotation.state === 'adopted')
    return inForce === undefined
      ? []
      : [{ reason: 'CredentialsRotated', note: `the credentials in the Secret ${rotation.next.source} are in force` }];
  if (rotation.state !== 'refused' || inForce === undefined || inForce.refused === rotation.hash) return [];
  const { what, message } = rotation.outcome;
  const note = `${what}: ${message}; the credentials before stay in force`;
  return [{ type: 'Warning', reason: 'RotationFailed', note: note.slice(0, 1000) }];
}
