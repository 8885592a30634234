// A cluster for tests: the embedded API server in this process, on the test's own clock, with the kinds of some operators
// installed. Everything in it is deterministic.
import { type ApiServer, createApiServer, loadBuiltins, type UserInfo } from '@capstan/apiserver';
import {
  type Client,
  type Clock,
  CustomResourceDefinition,
  createClient,
  createRuleEvaluator,
  type KubeObject,
  type Random,
  silentLogger,
  type Transport,
} from '@capstan/kube';
import type { Operator } from '@capstan/reconcile';

export interface TestClusterOptions {
  clock: Clock;
  random: Random;
  /** Whose CRDs are installed. */
  operators?: readonly Operator[];
  /** Enforce RBAC, so that a program can be held to exactly its generated role; off by default. */
  rbac?: boolean;
}

export interface TestCluster {
  readonly server: ApiServer;
  /** An administrator's client, without faults: the test's own hands and eyes. */
  readonly client: Client;
  /** A transport of its own for the program under test. */
  transport(user?: UserInfo): Transport;
  close(): Promise<void>;
}

export async function createTestCluster({
  clock,
  random,
  operators = [],
  rbac,
}: TestClusterOptions): Promise<TestCluster> {
  // CEL rules of the kinds hold in tests as on every cluster.
  const evaluateRule = createRuleEvaluator();
  const server = createApiServer({
    evaluateRule,
    clock,
    random,
    builtins: sharedBuiltins(),
    ...(rbac ? { authorization: 'RBAC' } : {}),
  });
  const client = createClient({ transport: server.transport(), clock, random, logger: silentLogger });
  for (const { kinds } of operators) {
    for (const kind of kinds) await client.create(CustomResourceDefinition, kind.crd() as CustomResourceDefinition);
  }
  return { server, client, transport: (user) => server.transport(user ? { user } : {}), close: () => server.close() };
}

/** Loaded once a process: the tables never change, and thousands of simulated clusters share them. */
const sharedBuiltins = once(loadBuiltins);

function once<V>(make: () => V): () => V {
  let value: V | undefined;
  return () => (value ??= make());
}

/** An object of a kind, for tests: apiVersion and kind filled in. */
export function objectOf<T extends KubeObject>(
  kind: { apiVersion: string; kind: string },
  parts: Omit<T, 'apiVersion' | 'kind'>,
): T {
  return { apiVersion: kind.apiVersion, kind: kind.kind, ...parts } as T;
}
