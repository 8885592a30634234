import type { InformerState } from '@capstan/kube/cluster';
import type { Problem } from '../mirror/problem.ts';

/** What the state of a watch on the remote cluster means for whoever looks at the backend; undefined when all is well. */
export function troubleOf(state: InformerState, what: string): Problem | undefined {
  const { reason, lastError = 'no answer' } = state;
  switch (reason) {
    case undefined:
    // The history was compacted, or the server lost some: listed anew at once, nothing to report.
    case 'Expired':
    case 'Ahead':
      return undefined;
    case 'Unauthorized':
      return {
        type: 'AuthFailed',
        message: `the remote cluster does not accept the credentials: ${lastError}; renew the kubeconfig in the Secret`,
      };
    case 'Forbidden':
      return {
        type: 'AuthFailed',
        message: `the remote cluster does not let us list and watch ${what}: ${lastError}; grant what "gimbal rbac remote kubernetes" prints`,
      };
    default:
      return {
        type: 'Unreachable',
        message: `the remote cluster does not give its ${what}: ${lastError}; what was discovered stays`,
      };
  }
}
