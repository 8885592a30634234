// Which pods stand behind a Service, and on which ports each of them serves it.
import { type EndpointPort, type Pod, type Service, type ServicePort, selectorOfLabels } from '@capstan/kube';
import { isEnded, isPodReady, isTerminating } from '../controller/pods.ts';

/** Pods that are selected, have an address and have not ended, with how they stand. */
export interface Backend {
  pod: Pod;
  address: string;
  isReady: boolean;
  isServing: boolean;
  isTerminating: boolean;
}

export function backendsOf(service: Service, pods: readonly Pod[]): Backend[] {
  const selector = selectorOfLabels(service.spec?.selector ?? {});
  return pods.flatMap((pod) => {
    const address = pod.status?.podIP ?? '';
    if (address === '' || isEnded(pod) || !selector.matches(pod.metadata.labels)) return [];
    const isServing = isPodReady(pod);
    const isLeaving = isTerminating(pod);
    const isReady = service.spec?.publishNotReadyAddresses === true || (isServing && !isLeaving);
    return [{ pod, address, isReady, isServing, isTerminating: isLeaving }];
  });
}

/** The Service's ports as numbers of this pod; a port that it names and the pod does not have is left out. */
export function portsOn(service: Service, pod: Pod): EndpointPort[] {
  return (service.spec?.ports ?? []).flatMap((port) => {
    const number = targetPort(port, pod);
    if (number === undefined) return [];
    const { name = '', protocol = 'TCP', appProtocol } = port;
    return [{ name, port: number, protocol, ...(appProtocol === undefined ? {} : { appProtocol }) }];
  });
}

function targetPort({ port, targetPort: target = port, protocol = 'TCP' }: ServicePort, pod: Pod): number | undefined {
  if (typeof target === 'number') return target === 0 ? port : target;
  const sidecars = (pod.spec?.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always');
  for (const { ports = [] } of [...(pod.spec?.containers ?? []), ...sidecars]) {
    const found = ports.find((one) => one.name === target && (one.protocol ?? 'TCP') === protocol);
    if (found !== undefined) return found.containerPort;
  }
  return undefined;
}

/** Services without a selector are filled in by the one that made them. */
export function isManaged(service: Service): boolean {
  return service.spec?.type !== 'ExternalName' && Object.keys(service.spec?.selector ?? {}).length > 0;
}

export function isHeadless(service: Service): boolean {
  return service.spec?.clusterIP === 'None';
}
