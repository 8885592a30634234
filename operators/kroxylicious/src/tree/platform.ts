import { derivation } from '@capstan/reconcile';
import { OpenShiftRoute } from '../kinds/index.ts';

/** Whether the cluster is one of OpenShift, as its Routes show; always under the key ''. */
export const isOpenShift = derivation<boolean>({
  name: 'platform',
  compute: ({ read }) => read.access(OpenShiftRoute) === 'served',
});
