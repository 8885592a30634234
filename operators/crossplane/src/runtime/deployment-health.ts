// How a runtime's Deployment is doing.
import type { Deployment } from '@capstan/kube';
import type { WorkloadHealth } from './workload.ts';

export const deploymentHealth = ({ metadata, spec, status = {} }: Deployment): WorkloadHealth => {
  const wanted = spec?.replicas ?? 1;
  const isCurrent = (status.observedGeneration ?? 0) >= (metadata.generation ?? 0);
  const available = status.conditions?.find(({ type }) => type === 'Available');
  // Pods of the template before an edit are as good as any, until the controller has seen the edit.
  const isAvailable = available?.status === 'True';
  const isComplete =
    isCurrent &&
    isAvailable &&
    (status.updatedReplicas ?? 0) >= wanted &&
    (status.replicas ?? 0) === (status.updatedReplicas ?? 0);
  return { isAvailable, isComplete, message: isAvailable ? '' : (available?.message ?? 'it is not available yet') };
};
