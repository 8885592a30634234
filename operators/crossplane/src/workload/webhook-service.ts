import type { Reader } from '@capstan/reconcile';
import type { PackageKind } from '../packages/package-kind.ts';
import { contentKey } from '../packages/revision-content.ts';
import type { Workload } from '../runtime/index.ts';
import { ownerKey, refOf, servicesByOwner } from './owned-objects.ts';
import type { RevisionRuntimes } from './runtime-of-revision.ts';
import { isSettled } from './settled.ts';

interface WebhookServiceInput {
  readonly read: Reader;
  readonly runtimes: RevisionRuntimes;
  /** Its runtime's. */
  readonly workload: Workload;
  readonly kind: PackageKind;
  /** The package's. */
  readonly uid: string;
  /** The active one. */
  readonly revision: string;
}

/**
 * Returns the Service for webhooks: that of the active revision, once it answers or while nothing else runs; if it cannot be rendered, that
 * of the running workload. Else the reason why there is none.
 */
export function webhookService(input: WebhookServiceInput): { name: string } | { problem: string } {
  const { read, runtimes, workload, kind, uid, revision } = input;
  const runtime = read.derived(runtimes.ofRevision, contentKey(kind, revision));
  const key = ownerKey(kind, uid);
  const services = read.by(servicesByOwner, key, refOf);
  if (runtime.state === 'failed') {
    const running = services.find(({ name }) => name === revision) ?? services[0];
    return running === undefined ? { problem: runtime.message } : { name: running.name };
  }
  const { workload: wanted, service } = runtime.rendered;
  const own = { name: service.metadata.name ?? '' };
  const others = read.by(workload.byOwner, key, workload.running).filter(({ name }) => name !== wanted.metadata.name);
  const { namespace = '', name = '' } = wanted.metadata;
  if (others.length === 0) {
    if (isSettled(read, workload, runtime.rendered, revision)) return own;
  } else if (read.get(workload.kind, { namespace, name }, workload.health)?.isAvailable) return own;
  return services.find(({ name: other }) => other !== own.name) ?? own;
}
