import type { Container, ContainerPort, PodSpec } from '@capstan/kube';

/** What is allowed in a pod and probably not meant; `path` is where its spec is. */
export function podWarnings(path: string, spec: PodSpec | undefined): string[] {
  const warnings: string[] = [];
  const byPort = new Map<string, { at: string; port: ContainerPort }[]>();
  const byName = new Map<string, string>();
  const lists: [string, readonly Container[] | null | undefined][] = [
    ['initContainers', spec?.initContainers],
    ['containers', spec?.containers],
  ];
  const ports = lists.flatMap(([field, list]) =>
    (list ?? []).flatMap((container, index) =>
      (container.ports ?? []).map((port, place) => ({ at: `${path}.${field}[${index}].ports[${place}]`, port })),
    ),
  );
  for (const { at, port } of ports) {
    const id = `${port.containerPort}/${port.protocol ?? ''}`;
    const others = byPort.get(id) ?? [];
    for (const other of others) {
      const isSame = port.hostIP === other.port.hostIP && (port.hostPort ?? 0) === (other.port.hostPort ?? 0);
      if (isSame) warnings.push(`${at}: duplicate port definition with ${other.at}`);
      else if (!port.hostPort || !other.port.hostPort) {
        warnings.push(`${at}: overlapping port definition with ${other.at}`);
      }
    }
    byPort.set(id, [...others, { at, port }]);
  }
  for (const { at, port } of ports) {
    if (!port.name) continue;
    const other = byName.get(port.name);
    if (other === undefined) byName.set(port.name, at);
    else {
      const name = JSON.stringify(port.name);
      warnings.push(
        `${at}: duplicate port name ${name} with ${other}, services and probes that select ports by name will use ${other}`,
      );
    }
  }
  if ((spec?.terminationGracePeriodSeconds ?? 0) < 0) {
    const detail = 'must be >= 0; negative values are invalid and will be treated as 1';
    warnings.push(`${path}.terminationGracePeriodSeconds: ${detail}`);
  }
  return warnings;
}
