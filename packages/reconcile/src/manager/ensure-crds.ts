import {
  type Client,
  type Clock,
  CodedError,
  CustomResourceDefinition,
  discover,
  kindId,
  sleep,
} from '@capstan/kube/cluster';
import { ManagerErrors } from '../errors.ts';
import type { Operator } from '../operator.ts';

export interface EnsureCrdsOptions {
  client: Client;
  clock: Clock;
  operators: readonly Operator[];
  /** Apply them all, so that those of an older version are updated too. */
  install: boolean;
  /** Wait until a kind that was installed a moment ago is served; default when they are installed here. */
  wait?: boolean;
  signal: AbortSignal;
}

const POLL_MS = 200;
/** An API server serves a new kind within seconds. */
const ESTABLISH_MS = 30_000;
const FIELD_MANAGER = 'capstan';

/** Resolves when the server serves every kind of the operators; throws with the remedy when it does not. */
export async function ensureCrds(options: EnsureCrdsOptions): Promise<void> {
  const { client, clock, operators, install, wait = install, signal } = options;
  const kinds = operators.flatMap((operator) => operator.kinds);
  if (install) {
    for (const kind of kinds) {
      const crd = kind.crd() as CustomResourceDefinition;
      await client.apply(CustomResourceDefinition, crd, { fieldManager: FIELD_MANAGER, force: true, signal });
    }
  }
  const deadline = clock.now() + (wait ? ESTABLISH_MS : 0);
  for (;;) {
    const served = await discover(client, { signal });
    const missing = kinds.filter(({ apiVersion, kind }) => served.kindOf(apiVersion, kind) === undefined);
    if (missing.length === 0) return;
    if (clock.now() >= deadline) throw ManagerErrors.NotInstalled(missing.map(kindId));
    await sleep(clock, POLL_MS, signal);
  }
}

/** Whether kinds are missing, and nothing else is wrong. */
export function isNotInstalled(error: unknown): boolean {
  return error instanceof CodedError && error.code === 'manager/NotInstalled';
}
