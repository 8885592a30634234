import { derivation } from '@capstan/reconcile';
import { SecurityContextConstraints } from '../kinds/index.ts';

/**
 * Whether the cluster is one of OpenShift, which gives pods their groups; always under the key ''. Its security context
 * constraints are what does so: Routes are installed on other clusters too.
 */
export const isOpenShift = derivation<boolean>({
  name: 'platform',
  compute: ({ read }) => read.access(SecurityContextConstraints) === 'served',
});
