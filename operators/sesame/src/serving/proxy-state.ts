// What a served HTTPProxy is, in one word and by the hosts that it serves: for metrics.
import { type Derived, derivation } from '@capstan/reconcile';
import { HTTPProxy } from '../kinds/http-proxy.ts';
import { findingsOf, statusOf } from '../reconcilers/http-proxy-status.ts';
import { isServed } from '../routing/classes.ts';
import { proxyView } from '../routing/tracked-lookup.ts';
import type { RouteGraph } from './pieces.ts';

export interface ProxyState {
  readonly namespace: string;
  /** Of a root. */
  readonly vhost: string | undefined;
  /** valid, invalid or orphaned. */
  readonly status: string;
}

/** By `namespace/name`; null for one that is not there or not ours. */
export function proxyStates(graph: RouteGraph): Derived<ProxyState | null> {
  return derivation<ProxyState | null>({
    name: 'proxy-state',
    compute({ key, read }) {
      const at = key.indexOf('/');
      const ref = { namespace: key.slice(0, at), name: key.slice(at + 1) };
      const proxy = read.get(HTTPProxy, ref, proxyView);
      if (!proxy || !isServed(proxy, read.derived(graph.settings, '').ingress.className)) return null;
      const { virtualhost } = proxy.spec;
      const { currentStatus } = statusOf(findingsOf(read, graph, key, virtualhost !== undefined)).status;
      return { namespace: ref.namespace, vhost: virtualhost?.fqdn, status: currentStatus };
    },
  });
}
