// An operator inside `capstan up`: as `capstan run` would run it in a pod, with the service account and the rules that
// `capstan rbac` prints, over the transport in this process.
import { type LogicalCluster, serviceAccountUser } from '@capstan/apiserver';
import {
  type Client,
  type Clock,
  ClusterRole,
  ClusterRoleBinding,
  type Kind,
  type KubeObject,
  type Logger,
  Namespace,
  Role,
  RoleBinding,
  ServiceAccount,
} from '@capstan/kube';
import { type Operator, type Runtime, rbacManifests } from '@capstan/reconcile';
import type { Io } from '../cli/io.ts';
import { runOperators } from '../run/run-operators.ts';

export interface OwnOperatorOptions {
  operator: Operator;
  admin: Client;
  cluster: LogicalCluster;
  io: Io;
  clock: Clock;
  logger: Logger;
  signal: AbortSignal;
}

export interface RunningOperator {
  /** Resolves when its caches are full. */
  readonly ready: Promise<void>;
  /** Settles when it has ended; rejects when it could not run. */
  readonly ended: Promise<void>;
  /** Kinds may have been installed that it waits for: it looks for them now, and not in a quarter of a minute. */
  poke(): void;
}

export const OPERATOR_NAMESPACE = 'capstan-system';
const FIELD_MANAGER = 'capstan';

export function runOwnOperator(options: OwnOperatorOptions): RunningOperator {
  const { operator, admin, cluster, io, clock, signal } = options;
  let isReady = () => {};
  let runtime: Runtime | undefined;
  const ready = new Promise<void>((resolve) => {
    isReady = resolve;
  });
  const run = async () => {
    await grant(operator, admin, signal);
    const user = serviceAccountUser(OPERATOR_NAMESPACE, `capstan-${operator.name}`);
    const own: Io = {
      ...io,
      signal,
      connect: async () => ({
        ...cluster.server.transport({ user, userAgent: `capstan-${operator.name}` }),
        context: cluster.name,
        namespace: OPERATOR_NAMESPACE,
      }),
    };
    await runOperators({
      operators: [operator],
      settings: {
        installCrds: false,
        watchNamespaces: undefined,
        // Nobody else writes: the data folder belongs to this process.
        election: undefined,
        health: undefined,
        metrics: undefined,
        logFormat: 'text',
        logLevel: 'info',
      },
      flags: { kubeconfig: undefined, context: undefined, namespace: OPERATOR_NAMESPACE },
      io: own,
      clock,
      logger: options.logger.with({ operator: operator.name }),
      started(made) {
        runtime = made;
      },
      announce: (event) => {
        if (event === 'ready') isReady();
      },
    });
  };
  return {
    ready,
    ended: run(),
    poke() {
      for (const world of runtime?.worlds.values() ?? []) world.poke();
    },
  };
}

/** The account and its rules, as they are in this version: what was granted before and is not needed any more goes. */
async function grant(operator: Operator, admin: Client, signal: AbortSignal): Promise<void> {
  const options = { fieldManager: FIELD_MANAGER, force: true, signal };
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: OPERATOR_NAMESPACE } } as const;
  await admin.apply(Namespace, namespace, options);
  for (const manifest of rbacManifests(operator, { namespace: OPERATOR_NAMESPACE })) {
    await admin.apply(kindOf(manifest), manifest, options);
  }
}

const RBAC_KINDS: readonly Kind[] = [ServiceAccount, ClusterRole, ClusterRoleBinding, Role, RoleBinding];

function kindOf(manifest: KubeObject): Kind {
  const found = RBAC_KINDS.find(({ kind }) => kind === manifest.kind);
  if (!found) throw new TypeError(`permissions of a kind that nobody expected: ${manifest.kind}`);
  return found;
}
