import type { Service } from '@capstan/kube';
import type { Store } from '../store/store.ts';
import { ResolveFailure, type ResolveService } from './call-webhook.ts';

/** Where a Service is reached: by its cluster address, behind which the node's forwarder knows the pods. */
export function serviceEndpoints(store: Store): ResolveService {
  return (namespace, name, port) => {
    const service = store.get('/services', `${namespace}/${name}`) as Service | undefined;
    if (!service) throw new ResolveFailure(`service ${JSON.stringify(name)} not found`);
    const { type, clusterIP = '', externalName = '', ports = [] } = service.spec ?? {};
    if (type === 'ExternalName') return { host: externalName, port };
    if (clusterIP === 'None' || clusterIP === '') {
      throw new ResolveFailure('cannot route to service with ClusterIP "None"');
    }
    if (!ports.some((one) => one.port === port)) {
      throw new ResolveFailure(`no service port ${port} found for service ${JSON.stringify(name)}`);
    }
    return { host: clusterIP, port };
  };
}
