// Permits for tests of the steps after the decision. Only *.test.ts import it.
import type { Action, Claimant, Permit } from './index.ts';

export function granted<A extends Action>(action: A): Permit<A> {
  return action as Permit<A>;
}

export const CLAIMANT: Claimant = {
  inventory: 'test-web-0',
  described: 'test.web ConfigMap default/owner',
  uid: 'uid-owner',
  manager: 'capstan.test.web',
};
