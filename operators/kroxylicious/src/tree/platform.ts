import { derivation } from '@capstan/reconcile';
import { SecurityContextConstraints } from '../kinds/index.ts';

/**
 * Whether the cluster is OpenShift, which assigns groups to pods. The key is always ''. Its security context constraints are the sign,
 * since Routes are also installed on other clusters.
 */
export const isOpenShift = derivation<boolean>({
  name: 'platform',
  compute: ({ read }) => read.access(SecurityContextConstraints) === 'served',
});
