import type { LocalEnd } from '../drivers/driver.ts';
import type { Host } from '../host/index.ts';
import type { CableEngine } from './cable-engine.ts';
import type { GatewayConfiguration } from './configuration.ts';
import { type Health, type HealthCheck, startHealthCheck } from './health.ts';
import type { EndpointPlan } from './wanted-cable.ts';

export interface HealthChecks {
  /** Starts and ends checks, so that each cable whose other end has an address for it has one. */
  update(plans: ReadonlyMap<string, EndpointPlan>, engine: CableEngine): void;
  /** By the name of the cable. */
  current(): ReadonlyMap<string, Health>;
  stop(): void;
}

export function createHealthChecks(
  host: Host | undefined,
  { sourceIP }: LocalEnd,
  { health }: GatewayConfiguration,
): HealthChecks {
  const checks = new Map<string, { readonly address: string; readonly check: HealthCheck }>();
  const end = (name: string) => {
    checks.get(name)?.check.stop();
    checks.delete(name);
  };
  return {
    update(plans, engine) {
      if (host === undefined || !health.enabled) return;
      const wanted = new Map<string, string>();
      for (const { endpoint, wanted: cable } of plans.values())
        if (cable !== undefined && endpoint.healthCheckIP !== undefined && engine.reports().has(endpoint.cable_name))
          wanted.set(endpoint.cable_name, endpoint.healthCheckIP);
      for (const [name, { address }] of checks) if (wanted.get(name) !== address) end(name);
      for (const [name, address] of wanted) {
        if (checks.has(name)) continue;
        const { intervalSeconds, maxPacketLoss } = health;
        const check = startHealthCheck({ host, address, sourceIP, intervalSeconds, maxPacketLoss });
        checks.set(name, { address, check });
      }
    },
    current: () => new Map([...checks].map(([name, { check }]) => [name, check.current()])),
    stop: () => {
      for (const name of checks.keys()) end(name);
    },
  };
}
