// The state of each served HTTPProxy in one word, by its host: for metrics, which are computed when they are read. Its status has it
// already, so nothing is kept for them.
import { keyOfObject } from '@capstan/kube';
import type { Runtime } from '@capstan/reconcile';
import { HTTPProxy } from '../kinds/http-proxy.ts';
import { HTTP_PROXY_STATUS } from '../reconcilers/http-proxy-status.ts';

export interface ProxyState {
  readonly namespace: string;
  /** The host of a root. */
  readonly vhost: string | undefined;
  /** valid, invalid or orphaned. */
  readonly status: string;
}

/** Those that are ours and have been evaluated. */
export function proxyStates({ engine, bindings }: Pick<Runtime, 'engine' | 'bindings'>): ProxyState[] {
  const binding = bindings.find(({ reconciler }) => reconciler.name === HTTP_PROXY_STATUS);
  if (binding === undefined) return [];
  return binding.world.peek(HTTPProxy).flatMap((object) => {
    const settled = engine.valueOf(binding.plans, keyOfObject(object));
    const status = settled?.state === 'value' ? settled.value.status?.['currentStatus'] : undefined;
    if (typeof status !== 'string') return [];
    const { virtualhost } = (object as HTTPProxy).spec;
    return [{ namespace: object.metadata.namespace ?? '', vhost: virtualhost?.fqdn, status }];
  });
}
