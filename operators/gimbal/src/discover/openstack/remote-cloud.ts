// A cloud as the remote side: its source is read by a runtime, and a sink delivers each load balancer under the key that it has here.
import type { Clock, Logger, Random } from '@capstan/kube/cluster';
import { createRuntime, derivation, operator, sink } from '@capstan/reconcile/contract';
import { ABSENT, type Finding } from '../mirror/mirror.ts';
import type { Problem } from '../mirror/problem.ts';
import type { RemoteReceiver, RemoteSide } from '../remote-side.ts';
import { mapLoadBalancer } from './map-load-balancer.ts';
import { type CloudRow, type CloudSourceOptions, cloudSource, WHOLE } from './source.ts';

export interface RemoteCloudOptions extends CloudSourceOptions {
  writeEndpoints: boolean;
  clock: Clock;
  random: Random;
  logger: Logger;
}

/** A delivered value: a row, or under WHOLE the picture of all of them. */
type Delivered = CloudRow | Picture | undefined;

interface Picture {
  readonly row: 'picture';
  readonly isStale: boolean;
  /** Each cycle reads everything. */
  readonly completedAt: number;
  readonly identity: string | undefined;
  readonly problems: readonly Problem[];
}

/** By the code of the error that closed the source. */
function problemOfCode(code: string, message: string): Problem {
  const type = TYPES[code.replace(/^gimbal-discover\//, '')];
  return type === undefined
    ? { type: 'Unreachable', message: `${message}; what was discovered stays` }
    : { type, message };
}

const TYPES: Readonly<Record<string, Problem['type']>> = {
  SecretMissing: 'SecretMissing',
  KeyMissing: 'SecretMissing',
  HalfCredential: 'SecretInvalid',
  BadKey: 'SecretInvalid',
  AuthRefused: 'AuthFailed',
  Refused: 'AuthFailed',
  WrongCloud: 'WrongCluster',
};

const THE_CLOUD = derivation<readonly string[]>({ name: 'the-cloud', compute: () => [''] });

export function createCloudSource(options: RemoteCloudOptions): RemoteSide<Delivered> {
  const { backend, writeEndpoints, clock, random, logger } = options;
  const cloud = cloudSource(options);
  let picture: Picture | undefined;
  let failure: Problem | undefined;

  const balancers = derivation<Delivered>({
    name: 'load-balancer',
    compute({ key, read }) {
      const row = read.source(cloud).get(key);
      if (row?.row !== 'whole') return row;
      const { isStale } = read.source(cloud).state();
      const { identity, problems } = row;
      return { row: 'picture', isStale, completedAt: read.source(cloud).completedAt(), identity, problems };
    },
  });
  const keys = derivation<readonly string[]>({
    name: 'load-balancers',
    compute: ({ read }) => read.source(cloud).keys(),
  });
  const problem = derivation<Problem | undefined>({
    name: 'problem-of-the-cloud',
    compute({ read }) {
      const { error } = read.source(cloud).state();
      return error === undefined ? undefined : problemOfCode(error.code, error.message);
    },
  });

  function operatorFor(receiver: RemoteReceiver<Delivered>) {
    const mirrors = sink<Delivered>({
      name: 'mirrors',
      lease: 'none',
      of: balancers,
      keys,
      // Children are compared by content anyway.
      version: () => '',
      open(context) {
        const session = receiver.open(context);
        return {
          take(batch) {
            const whole = batch.changes.find(({ key }) => key === WHOLE)?.after;
            const before = picture?.completedAt;
            if (whole?.row === 'picture') picture = whole;
            session.take({ ...batch, changes: batch.changes.filter(({ key }) => key !== WHOLE) });
            receiver.stateChanged();
            // Confirm last: this cycle does not confirm its own new findings.
            if (isLive() && picture?.completedAt !== before) receiver.confirmed();
          },
        };
      },
    });
    const state = sink<Problem | undefined>({
      name: 'state-of-the-cloud',
      lease: 'none',
      of: problem,
      keys: THE_CLOUD,
      open: () => ({
        take({ changes }) {
          for (const { after } of changes) failure = after;
          receiver.stateChanged();
        },
      }),
    });
    return operator({ name: 'gimbal-discoverer', kinds: [], reconcilers: [], sinks: [mirrors, state] });
  }

  const isLive = () => picture !== undefined && !picture.isStale;

  return {
    get isLive() {
      return isLive();
    },
    get failure() {
      return failure;
    },
    get identity() {
      return picture?.identity;
    },
    problems: () => picture?.problems ?? [],
    unitOfKey: (key) => key,
    find(_unit, [first]): Finding {
      const row = first?.[1];
      if (row?.row === 'unseen') return { state: 'invalid', keep: true, upstreamEndpoints: 0, problems: [] };
      if (row?.row !== 'balancer') return ABSENT;
      const { pools, members } = row;
      const remote = {
        ...row,
        pools: new Map(pools.map((pool) => [pool.id, pool])),
        members: new Map(Object.entries(members)),
      };
      return mapLoadBalancer(remote, backend, writeEndpoints);
    },
    async run(receiver, signal) {
      const runtime = createRuntime({
        operators: [operatorFor(receiver)],
        clock,
        random,
        logger,
        deliveryHistory: false,
      });
      runtime.addWorld({ name: '', client: receiver.client });
      await runtime.run(signal);
    },
  };
}
