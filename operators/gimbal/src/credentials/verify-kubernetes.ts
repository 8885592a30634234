// Verifies credentials by a fresh login that tries each request of a discoverer: the cluster must answer, permit lists and watches, and
// identify itself. Nothing is written: an access review is a question.
import {
  type Client,
  type Clock,
  connectKubeconfig,
  createClient,
  isConfigError,
  isForbidden,
  isUnauthorized,
  type Logger,
  Namespace,
  parseKubeconfig,
  reasonOf,
  SelfSubjectAccessReview,
} from '@capstan/kube';
import { createRedactor, type Redactor } from '@capstan/reconcile';
import { decoded } from './secret-data.ts';
import { type Login, LoginError, type Verdict } from './verifier.ts';

export interface KubernetesLoginOptions {
  clock: Clock;
  logger: Logger;
  timeoutMs: number;
  signal: AbortSignal;
}

/** The resources that a discoverer lists and watches: EndpointSlices, or Endpoints where the cluster has no slices. */
const NEEDED = [
  { group: '', resources: ['services'] },
  { group: 'discovery.k8s.io', resources: ['endpointslices'] },
] as const;
const INSTEAD = { group: '', resources: ['endpoints'] } as const;

export async function verifyKubernetes(
  { data, endpoint }: Login,
  { clock, logger, timeoutMs, signal }: KubernetesLoginOptions,
): Promise<Verdict> {
  const [key = '', encoded = ''] = Object.entries(data)[0] ?? [];
  const text = decoded(encoded);
  const redactor = redactorOf(text);
  const report = (error: unknown) => redactor.clean(reasonOf(error));
  let client: Client;
  try {
    const transport = await connectKubeconfig(text, {
      // As a file is named in messages: the kubeconfig “config” in the Secret.
      name: `“${key}” in the Secret`,
      clock,
      logger,
      ...(endpoint !== undefined && { server: endpoint }),
    });
    // The caller retries, and meanwhile reports the answer.
    client = createClient({ transport, userAgent: 'gimbal-operator', clock, logger, retry: { attempts: 1 } });
  } catch (error) {
    if (isConfigError(error)) return { isGood: false, message: report(error) };
    throw new LoginError('Unreachable', report(error), { cause: error });
  }
  const call = { signal, timeoutMs };
  try {
    await client.request({ method: 'GET', path: '/version', ...call });
    await checkAccess(client, call);
    return { isGood: true, identity: await identityOf(client, call) };
  } catch (error) {
    if (error instanceof LoginError) throw error;
    if (isConfigError(error)) return { isGood: false, message: report(error) };
    const failure = isUnauthorized(error) || isForbidden(error) ? 'AuthFailed' : 'Unreachable';
    throw new LoginError(failure, report(error), { cause: error });
  } finally {
    await client.close();
  }
}

type Call = { signal: AbortSignal; timeoutMs: number };

async function checkAccess(client: Client, call: Call): Promise<void> {
  const denied: string[] = [];
  for (const { group, resources } of NEEDED) {
    for (const resource of resources) {
      if (await mayRead(client, group, resource, call)) continue;
      const isEnough = group !== '' && (await mayRead(client, INSTEAD.group, INSTEAD.resources[0], call));
      if (!isEnough) denied.push(group === '' ? resource : `${resource}.${group}`);
    }
  }
  if (denied.length > 0)
    throw new LoginError(
      'AuthFailed',
      `the remote cluster does not let us list and watch ${denied.join(', ')}; grant what "gimbal rbac remote kubernetes" prints`,
    );
}

async function mayRead(client: Client, group: string, resource: string, call: Call): Promise<boolean> {
  for (const verb of ['list', 'watch']) {
    const { apiVersion, kind } = SelfSubjectAccessReview;
    const spec = { resourceAttributes: { group, resource, verb } };
    const review = await client.create(SelfSubjectAccessReview, { apiVersion, kind, metadata: {}, spec }, call);
    if (review.status?.allowed !== true) return false;
  }
  return true;
}

/** The one that may not see it has no identity to compare. */
async function identityOf(client: Client, call: Call): Promise<string | undefined> {
  try {
    return (await client.find(Namespace, { name: 'kube-system' }, call))?.metadata.uid;
  } catch (error) {
    if (isForbidden(error)) return undefined;
    throw error;
  }
}

function redactorOf(text: string): Redactor {
  const redactor = createRedactor();
  try {
    for (const { token, password, keyData } of parseKubeconfig(text, '').users.values())
      for (const secret of [token, password, keyData]) if (secret !== undefined) redactor.redact(secret);
  } catch {
    // Text that cannot be parsed is not quoted either.
  }
  return redactor;
}
