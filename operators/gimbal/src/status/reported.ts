// Reports of others in a backend's status, which the discoverer's reconciler reads.
import type { DiscoveryBackend } from '../kinds/index.ts';

/** Returns the discoverer's report. */
export const discoveryOf = ({ status }: DiscoveryBackend) => status?.discovery;

export const inForceOf = ({ status }: DiscoveryBackend) => status?.credentials;

export const maintenanceOf = ({ status }: DiscoveryBackend) => {
  const { state, since, blocked } = status?.maintenance ?? {};
  return state === undefined || since === undefined ? undefined : { state, since, ...(blocked ? { blocked } : {}) };
};

/** Types of errors that have been reported. */
export const reportedTypes = ({ status }: DiscoveryBackend) =>
  [...new Set(status?.errors?.map(({ type }) => type))].toSorted();
