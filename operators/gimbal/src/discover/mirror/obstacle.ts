// Turns an obstacle of a service into a problem of its backend.
import { isInvalid, reasonOf, refOfKey } from '@capstan/kube/cluster';
import type { Obstacle } from '@capstan/reconcile/contract';
import type { Problem } from './problem.ts';

export interface ObstacleProblem {
  readonly problem: Problem | undefined;
  /** An attempt was made and went wrong. */
  readonly happened: boolean;
}

export function problemOf(unit: string, obstacle: Obstacle | undefined): ObstacleProblem {
  if (obstacle === undefined) return { problem: undefined, happened: false };
  const { namespace = '', name } = refOfKey(unit);
  const about = (type: Problem['type'], message: string): Problem => ({ type, message, namespace, name });
  switch (obstacle.what) {
    case 'namespace': {
      const message = `the namespace ${namespace} is not here; create it, and the service follows at once`;
      return { problem: about('NamespaceMissing', message), happened: obstacle.happened };
    }
    case 'taken': {
      const { kind, claim } = obstacle;
      const message = `the ${kind.kind} ${name} is there already and ${claim}: it is left alone; rename it, or the service or backend`;
      return { problem: about('NameCollision', message), happened: false };
    }
    case 'refused': {
      const { kind, action, error } = obstacle;
      const reason = reasonOf(error);
      if (isInvalid(error))
        return { problem: about('InvalidService', `this cluster does not accept it: ${reason}`), happened: true };
      const message = `the ${action} of its ${kind.kind} did not succeed and is tried again: ${reason}`;
      return { problem: about('WriteFailed', message), happened: true };
    }
  }
}
