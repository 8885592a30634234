// The ports of the runtime container. A program and the one that talks to it meet at a name (`metrics`, `webhook`, `grpc`), so a
// template may give a port of that name another number, for pods on the host's network for one. A port that has the number
// already is used as it is, whatever it is called: the same number twice would be refused.
import type { ContainerPort } from '@capstan/kube';

export interface RolePort {
  readonly name: string;
  readonly containerPort: number;
}

export const METRICS_PORT: RolePort = { name: 'metrics', containerPort: 8080 };
export const WEBHOOK_PORT: RolePort = { name: 'webhook', containerPort: 9443 };
export const GRPC_PORT: RolePort = { name: 'grpc', containerPort: 9443 };

/** The ports with one for each role; those of the template come first. */
export function withRolePorts(
  ports: readonly ContainerPort[] | undefined,
  roles: readonly RolePort[],
): ContainerPort[] {
  let result = [...(ports ?? [])];
  for (const role of roles) {
    const found = portOf(result, role);
    if (found === undefined) result.push({ name: role.name, containerPort: role.containerPort });
    else if (!found.name) result = result.map((port) => (port === found ? { ...port, name: role.name } : port));
  }
  return result;
}

/** The port of a role: the one of its name, else the one of its number. */
export function portOf(ports: readonly ContainerPort[] | undefined, role: RolePort): ContainerPort | undefined {
  return (
    ports?.find(({ name }) => name === role.name) ??
    ports?.find(({ containerPort, protocol = 'TCP' }) => containerPort === role.containerPort && protocol === 'TCP')
  );
}
