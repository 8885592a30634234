import type { Listener } from '../api/objects.ts';

/** The port that Envoy opens for a listener's: above those that need privileges, and different for different ports below 57,536. */
export function containerPort(port: number): number {
  const moved = port + 8_000;
  const wrapped = moved > 65_535 ? moved - 65_535 : moved;
  return wrapped <= 1_023 ? wrapped + 1_023 : wrapped;
}

export interface GatewayPort {
  readonly name: string;
  readonly port: number;
  readonly targetPort: number;
}

const NAMES: Readonly<Record<string, string>> = { HTTP: 'http', HTTPS: 'https', TLS: 'https', TCP: 'tcp' };

/** One for each port of the Gateway's listeners that can be served. */
export function gatewayPorts(listeners: readonly Listener[]): GatewayPort[] {
  const ports = new Map<number, GatewayPort>();
  for (const { port, protocol } of listeners) {
    const name = NAMES[protocol];
    if (name === undefined || ports.has(port)) continue;
    ports.set(port, { name: `${name}-${port}`, port, targetPort: containerPort(port) });
  }
  return [...ports.values()].toSorted((left, right) => left.port - right.port);
}
