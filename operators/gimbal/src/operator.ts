import { type Operator, operator } from '@capstan/reconcile';
import { Discoverer, Discovery, DiscoveryBackend } from './kinds/index.ts';
import { createMaintenance, type MaintenanceOptions } from './maintenance/index.ts';
import { backendAcceptance } from './reconcilers/acceptance.ts';
import { hiddenBackends } from './reconcilers/hidden-backend.ts';

export interface GimbalOptions {
  maintenance?: MaintenanceOptions;
}

/** Discovery backends: whether they are accepted, and the traffic that leaves them for maintenance and returns. */
export function createGimbal({ maintenance }: GimbalOptions = {}): Operator {
  return operator({
    name: 'gimbal',
    description: 'Discovery backends: their discoverers, their drains and their credentials.',
    kinds: [DiscoveryBackend, Discoverer, Discovery],
    reconcilers: [backendAcceptance, ...hiddenBackends, ...createMaintenance(maintenance).reconcilers],
  });
}

export default createGimbal();
