// The status of a backend. It has two writers: the discoverer applies `discovery`, with rights on its own object only; the operator writes
// the rest and composes `errors` from both.
import {
  anyObject,
  array,
  boolean,
  conditions,
  enumOf,
  integer,
  object,
  string,
  type TypeOf,
  time,
} from '@capstan/kube';

const text = (description: string) => string({ optional: true, description });
const count = (description: string) => integer({ optional: true, minimum: 0, description });
const instant = (description: string) => time({ optional: true, description });

/** Longer lists say how many more there are in a condition's message. */
export const MAX_ERRORS = 50;
export const MAX_BLOCKED = 20;
export const MAX_MESSAGE = 1024;

const errorEntry = () =>
  object({
    statusTime: time({ description: 'When it was last seen.' }),
    type: string({ minLength: 1, maxLength: 63, description: 'The reason, in one word.' }),
    message: string({ maxLength: MAX_MESSAGE, description: 'What went wrong, and what to do.' }),
    count: integer({ optional: true, minimum: 1, description: 'How often it was seen.' }),
    firstTime: instant('When it was first seen.'),
    namespace: text('Of the object concerned.'),
    name: text('Of the object concerned.'),
    resolved: instant('When its cause was resolved.'),
  });
export type BackendError = TypeOf<ReturnType<typeof errorEntry>>;

const counts = {
  upstreamServices: count('Services on the remote side.'),
  replicatedServices: count('Services that are here.'),
  invalidServices: count('Services that cannot be brought here.'),
  upstreamEndpoints: count('Addresses on the remote side.'),
  replicatedEndpoints: count('Addresses that are here.'),
  invalidEndpoints: count('Addresses that cannot be used here.'),
};

const discovery = () =>
  object(
    {
      synced: boolean({
        optional: true,
        description: 'Whether what the remote side has is here; false while it cannot be reached.',
      }),
      lastSync: instant('When both sides were last compared in full.'),
      startedAt: instant('When the discoverer started.'),
      version: text('Of the discoverer.'),
      identity: text('Of the remote cluster: what must stay the same when credentials change.'),
      credentials: text('The digest of the credentials in use.'),
      counts: object(counts, { optional: true }),
      errors: array(errorEntry(), { optional: true, maxItems: MAX_ERRORS }),
    },
    { optional: true, description: 'What the discoverer saw; written by it alone.' },
  );

const effective = () =>
  object(
    {
      backendName: string(),
      writtenAs: text('The kind under which it was written.'),
      type: enumOf(['kubernetes', 'openstack']),
      secret: string(),
      endpoint: string({ optional: true }),
      refreshInterval: integer({ description: 'Seconds.' }),
      debug: boolean(),
      clusterStatus: enumOf(['Enabled', 'Maintenance'], {
        description: 'As written in the spec; the schedule comes on top.',
      }),
      namespaces: object({ include: array(string()), exclude: array(string()) }),
      createNamespaces: boolean(),
      numThreads: integer(),
      clientQPS: integer(),
      clientBurst: integer(),
      httpTimeout: integer({ description: 'Seconds.' }),
      maintenance: object({
        onNoCapacity: enumOf(['Zero', 'Keep', 'Reject']),
        promoteZero: boolean(),
        rampSeconds: integer(),
        drainPercent: integer(),
        restoreHoldSeconds: integer(),
        schedule: array(object({ start: time(), end: time() })),
      }),
      rotation: object(
        {
          secret: string({ optional: true }),
          notBefore: time({ optional: true }),
          window: string({ optional: true }),
          timeZone: string({ optional: true }),
        },
        { optional: true },
      ),
      deletionPolicy: enumOf(['Clean', 'Orphan']),
    },
    { optional: true, description: 'The fields that are in force, in their normal form and with defaults.' },
  );
export type EffectiveBackend = NonNullable<TypeOf<ReturnType<typeof effective>>>;

const blockedRoute = () =>
  object({
    kind: string(),
    namespace: string(),
    name: string(),
    rule: string({ optional: true, description: 'Which of its rules: where it is in the object.' }),
    reason: string({ description: 'NoCapacity, NoWeights, ConflictingManager, Holding, Paused or AmbiguousWeight.' }),
    message: string({ optional: true }),
  });
export type BlockedRoute = TypeOf<ReturnType<typeof blockedRoute>>;

/** Active takes traffic; Draining and Drained are maintenance; Restoring is on the way back. */
export const MAINTENANCE_STATES = ['Active', 'Draining', 'Drained', 'Restoring'] as const;
export type MaintenanceState = (typeof MAINTENANCE_STATES)[number];

const maintenance = () =>
  object(
    {
      state: enumOf(MAINTENANCE_STATES),
      since: time({ description: 'When maintenance began, or the return from it.' }),
      routes: count('Routes that lead to the backend.'),
      routesDrained: count('Those that send it nothing.'),
      routesHeld: count('Those whose weights have not returned yet.'),
      routesBlocked: count('Those that block the drain.'),
      noCapacity: count('Those that have nowhere else to send requests.'),
      blocked: array(blockedRoute(), {
        optional: true,
        maxItems: MAX_BLOCKED,
        description: 'Routes that block the drain, the first of them.',
      }),
    },
    { optional: true, description: 'How far maintenance, or the return from it, has come.' },
  );
export type MaintenanceStatus = NonNullable<TypeOf<ReturnType<typeof maintenance>>>;

const credentials = () =>
  object(
    {
      hash: string({ description: 'The keyed digest of what is in force, as the discoverer shows it.' }),
      digest: text('The same under the present key.'),
      copy: string({
        description: 'The Secret that the discoverer mounts: a copy that was verified and does not change.',
      }),
      source: string({ description: 'The Secret that it was copied from.' }),
      endpoint: text('Used instead of the address in the Secret.'),
      identity: text('Of the remote cluster.'),
      since: time({ description: 'When they came into force.' }),
      expires: instant('When they expire, if known.'),
      previous: text('The copy before.'),
      rotations: count('How often they were changed.'),
      failures: count('How many changes were refused.'),
      candidate: object(
        { hash: string({ description: 'Its keyed digest.' }), since: time() },
        { optional: true, description: 'What is to follow, and since when it has been the same.' },
      ),
      refused: text('The keyed digest of what was refused last.'),
      rotatedBy: text('The value of the annotation rotate-now that was followed last.'),
    },
    { optional: true, description: 'The credentials that are in force.' },
  );
export type CredentialsStatus = NonNullable<TypeOf<ReturnType<typeof credentials>>>;

export const backendStatus = () =>
  object(
    {
      observedGeneration: integer({
        optional: true,
        format: 'int64',
        minimum: 0,
        description: 'The metadata.generation that this status describes.',
      }),
      phase: enumOf(['Pending', 'Running', 'Degraded', 'Maintenance', 'Terminating', 'Rejected'], { optional: true }),
      conditions: conditions(),
      errors: array(errorEntry(), {
        optional: true,
        maxItems: MAX_ERRORS,
        description: 'Errors encountered during discovery, the newest first.',
      }),
      effective: effective(),
      discovery: discovery(),
      discoverer: object(
        {
          kind: text('Deployment, or Process.'),
          name: text('Of the Deployment.'),
          image: text('That it runs.'),
          ready: boolean({ optional: true }),
          restarts: count('Of its pods.'),
          startedAt: instant('When its pod started.'),
          lastSync: instant('When both sides were last compared in full.'),
          configHash: text('Of its arguments.'),
          secretHash: text('Of the credentials that it runs with.'),
        },
        { optional: true, description: 'The program that does the discovery.' },
      ),
      credentials: credentials(),
      counts: object(counts, { optional: true, description: 'Services and addresses, there and here.' }),
      maintenance: maintenance(),
      memory: anyObject({
        optional: true,
        description: 'Bookkeeping of the controller; not for people or other programs.',
      }),
    },
    { optional: true },
  );
