// All commands of Capstan itself.
import type { Command } from '@capstan/reconcile/command-line';

interface Entry {
  readonly summary: string;
  load(): Promise<{ readonly default: Command }>;
}

export const COMMANDS: Readonly<Record<string, Entry>> = {
  run: { summary: 'Run operators in a cluster', load: () => import('../commands/run.ts') },
  plan: { summary: 'Show what a change would do, without doing it', load: () => import('../commands/plan.ts') },
  why: { summary: 'Tell why an object was changed', load: () => import('../commands/why.ts') },
  status: { summary: 'List what is not as it should be', load: () => import('../commands/status.ts') },
  crds: { summary: 'Print the CustomResourceDefinitions of operators', load: () => import('../commands/crds.ts') },
  rbac: { summary: 'Print the permissions that operators need', load: () => import('../commands/rbac.ts') },
  up: { summary: 'Start a whole cluster on this machine', load: () => import('../commands/up.ts') },
  version: { summary: 'Print the version', load: () => import('../commands/version.ts') },
};
