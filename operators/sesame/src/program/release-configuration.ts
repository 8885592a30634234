// The finalizer of a stand-alone Sesame must not outlive it: a SesameConfiguration that no replica uses could not be deleted.
import { type Client, type Clock, isConflict, isNotFound, Lease } from '@capstan/kube';
import { INSTANCE_LABEL, instanceOf } from '../configuration/instance-record.ts';
import { CONFIGURATION_FINALIZER } from '../deployment/finalizer.ts';
import { SesameConfiguration } from '../kinds/index.ts';

export interface ReleaseOptions {
  readonly client: Client;
  readonly clock: Pick<Clock, 'now'>;
  readonly namespace: string;
  /** The name of the SesameConfiguration. */
  readonly name: string;
  readonly signal?: AbortSignal;
}

/** `free`: it has no finalizer of Sesame. `used`: these replicas are alive and use it, so that it is left alone. */
export type Release =
  | { readonly is: 'released' | 'free' | 'absent' }
  | { readonly is: 'used'; readonly by: readonly string[] };

/** Removes Sesame's finalizer from a SesameConfiguration, unless a live replica uses it. */
export async function releaseConfiguration(options: ReleaseOptions): Promise<Release> {
  const { client, namespace, name, signal } = options;
  const within = signal === undefined ? {} : { signal };
  for (let attempt = 1; ; attempt++) {
    const object = await client.find(SesameConfiguration, { namespace, name }, within);
    if (object === undefined) return { is: 'absent' };
    const { finalizers = [], resourceVersion } = object.metadata;
    if (!finalizers.includes(CONFIGURATION_FINALIZER)) return { is: 'free' };
    const by = await liveReplicas(options);
    if (by.length > 0) return { is: 'used', by };
    const left = finalizers.filter((finalizer) => finalizer !== CONFIGURATION_FINALIZER);
    const patch = { metadata: { resourceVersion, finalizers: left } };
    try {
      await client.patch(SesameConfiguration, { namespace, name }, 'merge', patch, within);
      return { is: 'released' };
    } catch (error) {
      if (isNotFound(error)) return { is: 'absent' };
      if (!isConflict(error) || attempt === MAX_ATTEMPTS) throw error;
    }
  }
}

const MAX_ATTEMPTS = 5;

async function liveReplicas({ client, clock, namespace, name, signal }: ReleaseOptions): Promise<readonly string[]> {
  const selection = { namespace, labelSelector: INSTANCE_LABEL, ...(signal && { signal }) };
  const { items } = await client.list(Lease, selection);
  return items
    .flatMap((lease) => instanceOf(lease) ?? [])
    .filter(({ record, expiresAt }) => record.configuration === name && expiresAt > clock.now())
    .map((instance) => instance.name)
    .toSorted();
}
