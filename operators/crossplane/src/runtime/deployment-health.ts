// How a runtime's Deployment is doing.
import { type Deployment, rolloutProgress } from '@capstan/kube';
import type { WorkloadHealth } from './workload.ts';

export const deploymentHealth = (deployment: Deployment): WorkloadHealth => {
  const { isAvailable, isComplete } = rolloutProgress(deployment);
  const available = deployment.status?.conditions?.find(({ type }) => type === 'Available');
  return { isAvailable, isComplete, message: isAvailable ? '' : (available?.message ?? 'it is not available yet') };
};
