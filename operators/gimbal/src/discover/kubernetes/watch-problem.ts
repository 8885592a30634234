import type { WatchProblem } from '@capstan/reconcile/contract';
import type { Problem } from '../mirror/problem.ts';

/** The state of a watch on the remote cluster as a problem of the backend; undefined when the watch is healthy. */
export function problemOfWatch(problem: WatchProblem | undefined, what: string): Problem | undefined {
  if (problem === undefined) return undefined;
  switch (problem.reason) {
    // The history was compacted, or the server lost some of it: relisted at once, nothing to report.
    case 'Expired':
    case 'Ahead':
      return undefined;
    case 'Unauthorized':
      return {
        type: 'AuthFailed',
        message: `the remote cluster does not accept the credentials: ${problem.message}; renew the kubeconfig in the Secret`,
      };
    case 'Forbidden':
      return {
        type: 'AuthFailed',
        message: `the remote cluster does not let us list and watch ${what}: ${problem.message}; grant what "gimbal rbac remote kubernetes" prints`,
      };
    default:
      return {
        type: 'Unreachable',
        message: `the remote cluster does not give its ${what}: ${problem.message}; what was discovered stays`,
      };
  }
}
