// The discoverer of a backend: its Deployment and permissions, its health, and everything that is reported about it. When the backend is
// deleted, the discoverer is stopped first, because it would recreate the removed objects. Then routes lose their references (see
// maintenance), then the discovered objects are removed, and the finalizer last.
import {
  ClusterRole,
  ClusterRoleBinding,
  Deployment,
  EndpointSlice,
  Endpoints,
  keyOfObject,
  Lease,
  Namespace,
  type ObjectRef,
  Pod,
  Role,
  RoleBinding,
  Service,
  ServiceAccount,
} from '@capstan/kube';
import {
  apply,
  type ConditionInput,
  type Context,
  conditionType,
  type EventInput,
  noCondition,
  plan,
  type Reader,
  type Reconciler,
  reading,
  reconciler,
  released,
  writing,
} from '@capstan/reconcile';
import { acceptance, backendFields, backendNamed, type NamedBackend } from '../backend/backend.ts';
import { shortHash } from '../credentials/hash.ts';
import { CREATED_BY } from '../discover/mirror/created-by.ts';
import { discovererDeployment } from '../discoverer/deployment.ts';
import { type DeploymentHealth, deploymentHealth, POD_READ, type PodHealth, podHealth } from '../discoverer/health.ts';
import { removalsOf } from '../discoverer/mirrors.ts';
import { DISCOVERER_ACCOUNTS, discovererLabels, discovererName } from '../discoverer/names.ts';
import { discovererPermissions, GRANTED_IN_NAMESPACE, grantedEverywhere } from '../discoverer/permissions.ts';
import { DiscoveryBackend, type EffectiveBackend, FINALIZER, GROUP } from '../kinds/index.ts';
import { SERVICE_READS } from '../maintenance/services.ts';
import type { Settings } from '../settings.ts';
import { composeErrors, conditionFindings, type Finding, isWarning, routeFindings } from '../status/errors.ts';
import { discoveryOf, inForceOf, maintenanceOf, reportedTypes } from '../status/reported.ts';
import type { Maintenance } from './maintenance-parts.ts';

/** Deletes a backend and leaves routes and discovered objects as they are. */
export const FORCE_DELETE = `${GROUP}/force-delete`;

const discovererReady = conditionType<
  'Running' | 'Updating' | 'Starting' | 'NoCredentials' | 'DiscovererCrash' | 'Terminating'
>('DiscovererReady');
const synced = conditionType<string>('Synced');

/** How long the end of a discoverer is waited for; it may not write any more by then in any case. */
const PATIENCE_MS = 60_000;

type Clearing = Pick<Maintenance, 'areRoutesClear' | 'totals'>;

export function createDiscovererReconciler(settings: Settings, routes: Clearing): Reconciler {
  const { image, writeEndpoints } = settings;
  return reconciler<DiscoveryBackend>({
    name: 'discoverer',
    resource: DiscoveryBackend,
    finalizer: FINALIZER,
    reads: [
      reading(Deployment, 'owned'),
      reading(Pod, 'everywhere', POD_READ),
      Namespace,
      ...SERVICE_READS,
      ...(writeEndpoints ? [reading(Endpoints, 'everywhere')] : []),
    ],
    writes: [
      writing(Deployment, 'apply', { podAccounts: DISCOVERER_ACCOUNTS }),
      ServiceAccount,
      writing(Role, 'apply', { grants: { namespaced: GRANTED_IN_NAMESPACE } }),
      RoleBinding,
      writing(ClusterRole, 'apply', { grants: grantedEverywhere(writeEndpoints) }),
      ClusterRoleBinding,
      writing(Lease, 'createOnly'),
      writing(Service, 'remove', { createdBy: CREATED_BY }),
      writing(EndpointSlice, 'remove', { createdBy: CREATED_BY }),
      writing(Endpoints, 'remove', { createdBy: CREATED_BY }),
    ],
    primary: false,
    reconcile({ object, read, digest }) {
      const key = keyOfObject(object);
      const { name = '', namespace = '', creationTimestamp = '' } = object.metadata;
      const ref = { namespace, name };
      const verdict = read.derived(acceptance, key);
      const { effective } = read.derived(backendFields, key);
      const isLoser = !verdict.isAccepted && verdict.reason === 'DuplicateName';
      const findings = [...(read.get(DiscoveryBackend, ref, conditionFindings) ?? [])];
      if (isLoser || effective === undefined) return rejected(read, ref, findings, creationTimestamp, isLoser);

      const credentials = read.get(DiscoveryBackend, ref, inForceOf);
      const discovery = read.get(DiscoveryBackend, ref, discoveryOf);
      const stage = read.get(DiscoveryBackend, ref, maintenanceOf);
      const seen = healthOf(read, effective, namespace);
      findings.push(...ownFindings(seen), ...(stage === undefined ? [] : routeFindings(stage)));
      const errors = composeErrors(findings, discovery?.errors ?? [], creationTimestamp);
      const ready = readiness(seen, credentials !== undefined);
      const sync = syncOf(discovery, seen.deployment?.isAvailable === true);
      const deployment =
        credentials === undefined
          ? undefined
          : discovererDeployment({ effective, namespace, credentials, image, writeEndpoints });
      const pod = seen.pods.find(({ isGoing }) => !isGoing);
      return plan({
        held: true,
        // Without credentials the desired discoverer is not known: the running one continues.
        prune: deployment !== undefined,
        groups:
          deployment === undefined
            ? []
            : [
                { name: 'permissions', children: discovererPermissions(effective, namespace, writeEndpoints) },
                { name: 'discoverer', children: [apply(Deployment, deployment)] },
              ],
        conditions: [ready, sync],
        status: {
          phase: phaseOf(stage?.state, ready, sync, errors.filter((error) => !isWarning(error)).length),
          errors,
          counts: discovery?.counts,
          ...(credentials === undefined || deployment === undefined
            ? {}
            : {
                discoverer: {
                  kind: 'Deployment',
                  name: discovererName(effective),
                  image,
                  ready: ready.status === 'True',
                  restarts: seen.pods.reduce((sum, { restarts }) => sum + restarts, 0),
                  startedAt: pod?.startedAt,
                  lastSync: discovery?.lastSync,
                  configHash: digest(deployment.spec).split('.')[1]?.slice(0, 8),
                  secretHash: shortHash(credentials.hash),
                },
              }),
        },
        events: newErrors(read, ref, errors),
      });
    },
    release: (context) => release(context, routes, writeEndpoints),
  });
}

function release({ object, read }: Context<DiscoveryBackend>, routes: Clearing, writeEndpoints: boolean) {
  const { name = '', namespace = '', annotations } = object.metadata;
  const backend = read.derived(backendNamed, name);
  // A backend that does not own the name has nothing to clean up: the objects are those of the owner.
  if (backend?.effective === undefined || backend.ref.namespace !== namespace) return released();
  const { effective } = backend;
  const isForced = annotations?.[FORCE_DELETE] === 'true';
  const step = (waitsFor: string, removals: ReturnType<typeof removalsOf> = []) =>
    plan({
      held: true,
      removals,
      conditions: [discovererReady.isFalse('Terminating', waitsFor)],
      status: { phase: 'Terminating' },
    });
  if (!isDiscovererGone(read, backend)) return step('the discoverer is stopped');
  if (isForced) return released();
  if (!routes.areRoutesClear(read, name))
    return step(`routes lose their references to the backend${leftOf(read, routes, name)}`);
  const removals = effective.deletionPolicy === 'Orphan' ? [] : removalsOf(read, name, writeEndpoints);
  return removals.length === 0 ? released() : step('what was discovered is removed', removals);
}

/** Which routes are waited for, when they are few: one that stays in the list is refused by the server, or cannot be seen. */
function leftOf(read: Reader, { totals }: Clearing, name: string): string {
  const { pendingNames, unreadable } = read.derived(totals, name);
  const unseen = unreadable.map((kind) => `${kind} cannot be read; grant the operator that`);
  const names = pendingNames.length === 0 ? [] : [`${pendingNames.join(', ')} (see their events)`];
  const all = [...names, ...unseen];
  return all.length === 0
    ? ''
    : `: ${all.join('; ')}; the annotation ${FORCE_DELETE}: "true" leaves routes as they are`;
}

/** Its Deployment and its pods are gone. A pod that lingers may not write any more, so the wait is bounded. */
export function isDiscovererGone(read: Reader, { effective, ref }: NamedBackend): boolean {
  if (effective === undefined) return true;
  const { deployment, pods } = healthOf(read, effective, ref.namespace);
  if (deployment !== undefined) return false;
  const since = read.get(DiscoveryBackend, ref, deletedAt);
  return pods.length === 0 || (since !== undefined && read.reached(Date.parse(since) + PATIENCE_MS));
}

const deletedAt = ({ metadata }: DiscoveryBackend) => metadata.deletionTimestamp;

interface Seen {
  readonly deployment: DeploymentHealth | undefined;
  readonly pods: readonly PodHealth[];
}

function healthOf(read: Reader, effective: EffectiveBackend, namespace: string): Seen {
  const labels = { matchLabels: discovererLabels(effective) };
  return {
    deployment: read.get(Deployment, { namespace, name: discovererName(effective) }, deploymentHealth),
    pods: read.list(Pod, { namespace, labels }, podHealth),
  };
}

/** One that is not accepted, and never was: nothing runs for it, and nothing of it is held. */
function rejected(read: Reader, ref: ObjectRef, findings: readonly Finding[], created: string, isLoser: boolean) {
  const errors = composeErrors(findings, [], created);
  return plan({
    held: false,
    prune: isLoser,
    conditions: [noCondition('DiscovererReady'), noCondition('Synced')],
    status: { phase: 'Rejected', errors },
    events: newErrors(read, ref, errors),
  });
}

function ownFindings({ deployment, pods }: Seen): Finding[] {
  const crashes = pods.flatMap(({ failure }) =>
    failure === undefined ? [] : [{ type: 'DiscovererCrash', message: failure.message, at: failure.at }],
  );
  if (deployment?.stuck === undefined || !deployment.isAvailable) return crashes;
  const { message, since } = deployment.stuck;
  const text = `the discoverer that should take over does not become ready, and the previous one continues: ${message}`;
  return [...crashes, { type: 'RotationFailed', message: text, at: since }];
}

function readiness({ deployment, pods }: Seen, hasCredentials: boolean): ConditionInput {
  const failure = pods.find((pod) => pod.failure !== undefined)?.failure?.message;
  if (deployment?.isAvailable === true) {
    if (deployment.isComplete) return discovererReady.isTrue('Running', '');
    return discovererReady.isTrue(
      'Updating',
      failure ?? 'another discoverer compares both sides, and takes over when it has',
    );
  }
  if (failure !== undefined) return discovererReady.isFalse('DiscovererCrash', failure);
  if (!hasCredentials)
    return discovererReady.isFalse('NoCredentials', 'it waits for credentials that work: see CredentialsValid');
  return discovererReady.isFalse('Starting', 'the first comparison of both sides is not complete');
}

function syncOf(discovery: ReturnType<typeof discoveryOf>, isRunning: boolean): ConditionInput {
  if (discovery?.lastSync === undefined && discovery?.errors === undefined)
    return synced.isFalse('NotYet', 'both sides have not been compared yet');
  if (discovery.synced !== true) {
    const cause = discovery.errors?.find(({ type }) => REMOTE.has(type));
    return synced.isFalse(cause?.type ?? 'Syncing', cause?.message ?? 'both sides are being compared');
  }
  if (!isRunning) return synced.isFalse('NotRunning', 'the discoverer does not run; what was discovered is kept');
  return synced.isTrue('Synced', '');
}

/** The errors that keep the whole remote side away. */
const REMOTE = new Set(['AuthFailed', 'Unreachable', 'SecretMissing', 'SecretInvalid', 'WrongCluster']);

function phaseOf(stage: string | undefined, ready: ConditionInput, sync: ConditionInput, errors: number): string {
  if (stage !== undefined && stage !== 'Active') return 'Maintenance';
  if (ready.status !== 'True') return errors > 0 ? 'Degraded' : 'Pending';
  if (errors > 0) return 'Degraded';
  return sync.status === 'True' ? 'Running' : 'Pending';
}

/** Reported once for each type of error: the list has the rest. */
function newErrors(read: Reader, ref: ObjectRef, errors: readonly { type: string; message: string }[]): EventInput[] {
  const reported = read.get(DiscoveryBackend, ref, reportedTypes) ?? [];
  const fresh = new Map(errors.filter(({ type }) => !reported.includes(type)).map((error) => [error.type, error]));
  return [...fresh.values()].map(({ type, message }) => ({ type: 'Warning', reason: type, note: message }));
}
