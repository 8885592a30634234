import { type Clock, type Logger, silentLogger, systemClock } from '@capstan/kube';
import type { Verify } from './verifier.ts';

export interface VerifyOptions {
  clock?: Clock;
  logger?: Logger;
  /** The timeout of one request. */
  timeoutMs?: number;
}

/** Logs in over the network, with connections that are created for it and closed after it. */
export function createVerify(options: VerifyOptions = {}): Verify {
  const { clock = systemClock, logger = silentLogger, timeoutMs = 10_000 } = options;
  return async (login, signal) => {
    // Loaded when something is verified: most commands never do.
    if (login.type === 'kubernetes') {
      const { verifyKubernetes } = await import('./verify-kubernetes.ts');
      return verifyKubernetes(login, { clock, logger, timeoutMs, signal });
    }
    const { verifyOpenStack } = await import('./verify-openstack.ts');
    return verifyOpenStack(login, { clock, timeoutMs, signal });
  };
}
