import assert from 'node:assert/strict';
import { ApiError, ConfigMap, createClient, type KubeObject, silentLogger } from '@capstan/kube';
import { createRandom, createVirtualClock } from '@capstan/testing';
import {
  type ApplyWrite,
  type ChildWrite,
  type DeleteWrite,
  type Failure,
  NOTHING,
  type PendingGroup,
  type StatusWrite,
  type WriteSet,
} from '../../diff/index.ts';
import { CLAIMANT, granted } from '../../ownership/ownership.test-support.ts';
import { ownershipOf } from '../apply.test-support.ts';
import { carryOut } from '../carry-out.ts';
import { createKeyState, type Job } from '../job.ts';

export const owner: KubeObject = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { namespace: 'default', name: 'owner', uid: 'u', resourceVersion: '1' },
};

export const ref = (name: string) => ({ namespace: 'default', name });

export const body = (name: string, data: Record<string, string> = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: ref(name),
  data,
});

export const applying = (name: string, exists = true, data = {}): ApplyWrite => ({
  verb: 'apply',
  may: granted(exists ? 'update' : 'create'),
  kind: ConfigMap,
  ref: ref(name),
  body: body(name, data),
  exists,
  taken: [],
});

export const deleting = (name: string, uid = name): DeleteWrite => ({
  verb: 'delete',
  kind: ConfigMap,
  ref: ref(name),
  uid,
  because: 'pruned',
  may: granted('delete'),
  intent: { mode: 'unplanned' },
  claimant: CLAIMANT,
});

export const group = (writes: readonly ChildWrite[], given: Partial<PendingGroup> = {}): PendingGroup => ({
  name: 'group',
  writes,
  quietMs: 0,
  quietAtCreation: false,
  preflight: false,
  open: true,
  waitingFor: undefined,
  ...given,
});

export const status = (input: Record<string, unknown>, isUrgent = true): StatusWrite => ({
  input,
  conditions: [],
  generation: 1,
  isUrgent,
});

export const refused = (code: number, reason?: string) =>
  new ApiError({
    code,
    status: { ...(reason ? { reason } : {}), message: 'refused' },
    method: 'PATCH',
    path: '/x',
    address: 'test',
  });

type Answer = Error | KubeObject | undefined;

/**
 * One key whose writes a test decides: `next` is called after every wave, with the requests so far. `answer` answers every request, else
 * the request succeeds.
 */
export function stage(
  next: (sent: readonly string[], stage: Stage) => Partial<WriteSet> | undefined,
  given: Partial<Job> = {},
) {
  const clock = createVirtualClock();
  const created: Stage = {
    clock,
    sent: [],
    waves: 0,
    reported: [],
    reports: [],
    written: [],
    fresh: true,
    leads: true,
    isAwaited: false,
    answer: () => undefined,
    owner,
  };
  const abort = new AbortController();
  const respond = (line: string, good: KubeObject | undefined) => {
    const answer = created.answer(line);
    if (answer instanceof Error) throw answer;
    return answer ?? good;
  };
  const send = (line: string, object: KubeObject | undefined) => {
    created.sent.push(line);
    return Promise.resolve().then(() => respond(line, object));
  };
  const real = createClient({
    transport: {
      request: () => assert.fail('no request'),
      watch: () => assert.fail('no watch'),
      close: () => Promise.resolve(),
    } as never,
    clock,
    random: createRandom(1),
    logger: silentLogger,
  });
  const client = {
    ...real,
    apply: (_kind: unknown, object: KubeObject, { dryRun }: { dryRun?: boolean }) =>
      send(`${dryRun ? 'rehearse' : 'apply'} ${object.metadata.name}`, object),
    patch: (
      _kind: unknown,
      { name }: { name: string },
      _type: string,
      patch: { status?: unknown; metadata?: KubeObject['metadata'] },
    ) =>
      send(
        patch.status ? `status ${JSON.stringify(patch.status)}` : `finalizers ${patch.metadata?.finalizers?.join()}`,
        { ...owner, metadata: { ...owner.metadata, name } },
      ),
    delete: (_kind: unknown, { name }: { name: string }) => send(`delete ${name}`, undefined),
    find: () => Promise.resolve(created.answer('find') as KubeObject | undefined),
  } as unknown as Job['target']['client'];
  let current: WriteSet | undefined;
  const evaluate = () => {
    const partial = next(created.sent, created);
    current = partial === undefined ? undefined : { ...NOTHING, ...partial };
  };
  evaluate();
  const job: Job = {
    writes: () => current,
    owner: () => ownershipOf(ConfigMap, created.owner),
    wave() {
      created.waves++;
      evaluate();
      return Promise.resolve();
    },
    isFresh: () => created.fresh,
    report: (failure) => created.reports.push(failure),
    notify: ({ reason }) => created.reported.push(reason),
    written: ({ verb }) => created.written.push(verb),
    state: createKeyState(),
    target: { client, observeWrite: () => undefined, observeDelete: () => undefined },
    manager: 'capstan.test.web',
    finalizer: 'capstan.dev/web',
    clock,
    mayWrite: () => created.leads,
    isAwaited: () => created.isAwaited,
    meetForeign: () => undefined,
    cause: () => undefined,
    inTurn: (work) => work(false),
    signal: abort.signal,
    ...given,
  };
  return Object.assign(created, {
    job,
    run: () => {
      evaluate();
      return carryOut(job);
    },
    abort: () => abort.abort(),
  });
}

interface Stage {
  readonly clock: ReturnType<typeof createVirtualClock>;
  readonly sent: string[];
  waves: number;
  readonly reported: string[];
  readonly reports: (Failure | undefined)[];
  readonly written: string[];
  fresh: boolean;
  leads: boolean;
  isAwaited: boolean;
  answer: (line: string) => Answer;
  owner: KubeObject;
}
