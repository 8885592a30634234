// A fresh login to a cloud: a token that was not there before, a load balancer service in its catalog, and lists that we may
// read. (A token of before a change of password goes on working for minutes, so only a new login proves anything.)
import { type Clock, createHttpTransport, fixedCredentials, reasonOf } from '@capstan/kube';
import { createRedactor } from '@capstan/reconcile';
import { isCode, NOT_MOUNTED } from '../discover/errors.ts';
import { listProjects } from '../discover/openstack/cloud.ts';
import { readCloudCredentials } from '../discover/openstack/credentials.ts';
import { createSession } from '../discover/openstack/session.ts';
import { memoryFiles } from './memory-files.ts';
import { type Login, LoginError, type Verdict } from './verifier.ts';

export interface OpenStackLoginOptions {
  clock: Clock;
  timeoutMs: number;
  signal: AbortSignal;
}

export async function verifyOpenStack(
  { data, endpoint }: Login,
  { clock, timeoutMs, signal }: OpenStackLoginOptions,
): Promise<Verdict> {
  const redactor = createRedactor();
  const report = (error: unknown) => redactor.clean(reasonOf(error));
  let session: ReturnType<typeof createSession> | undefined;
  const close = () => void session?.close();
  try {
    const credentials = await readCloudCredentials({ files: memoryFiles(data), folder: NOT_MOUNTED, endpoint });
    const { login, ca } = credentials;
    redactor.redact('secret' in login ? login.secret : login.password);
    const identity = fixedCredentials({ tls: ca === undefined ? {} : { ca } });
    session = createSession({
      credentials,
      interface: 'public',
      clock,
      timeoutMs,
      open: (server) => createHttpTransport({ server, credentials: identity, clock, connectTimeoutMs: timeoutMs }),
    });
    signal.addEventListener('abort', close, { once: true });
    await session.login();
    await session.balancer('/loadbalancers', { limit: '1' });
    await listProjects(session);
    return { isGood: true, identity: session.cloud };
  } catch (error) {
    if (isCode(error, 'KeyMissing', 'HalfCredential', 'BadKey')) return { isGood: false, message: report(error) };
    const isRefused = isCode(error, 'AuthRefused', 'Refused', 'NotInCatalog');
    throw new LoginError(isRefused ? 'AuthFailed' : 'Unreachable', report(error), { cause: error });
  } finally {
    signal.removeEventListener('abort', close);
    await session?.close();
  }
}
