import { Deployment } from '@capstan/kube';
import type { Reader } from '@capstan/reconcile';
import type { PackageKind } from '../packages/package-kind.ts';
import { contentKey } from '../packages/revision-content.ts';
import { deploymentHealth } from './deployment-health.ts';
import { deploymentsByOwner, ownerKey, refOf, runningOf, servicesByOwner } from './owned-objects.ts';
import type { RevisionRuntimes } from './runtime-of-revision.ts';

interface WebhookServiceInput {
  readonly read: Reader;
  readonly runtimes: RevisionRuntimes;
  readonly kind: PackageKind;
  /** The package's. */
  readonly uid: string;
  /** The active one. */
  readonly revision: string;
}

/** The Service that webhooks ask: that of the active revision, once it answers or while nothing else runs. */
export function webhookService({ read, runtimes, kind, uid, revision }: WebhookServiceInput): string | undefined {
  const runtime = read.derived(runtimes.ofRevision, contentKey(kind, revision));
  if (runtime.state === 'failed') return undefined;
  const { deployment, service } = runtime.rendered;
  const own = service.metadata.name ?? '';
  const key = ownerKey(kind, uid);
  const others = read.by(deploymentsByOwner, key, runningOf).filter(({ name }) => name !== deployment.metadata.name);
  if (others.length === 0) return own;
  const { namespace = '', name = '' } = deployment.metadata;
  if (read.get(Deployment, { namespace, name }, deploymentHealth)?.isAvailable) return own;
  const before = read.by(servicesByOwner, key, refOf).find((found) => found.name !== own);
  return before?.name ?? own;
}
