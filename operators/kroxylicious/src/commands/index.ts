// The commands of the program `kroxylicious`.
import type { Commands } from '@capstan/reconcile/command-line';

export const COMMANDS: Commands = {
  webhook: { summary: 'Run the webhook that injects sidecars into new pods', load: () => import('./webhook.ts') },
};
