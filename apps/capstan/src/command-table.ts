// All commands of Capstan itself.
import type { Commands } from '@capstan/reconcile/command-line';

export const COMMANDS: Commands = {
  run: { summary: 'Run operators in a cluster', load: () => import('./commands/run.ts') },
  plan: { summary: 'Show what a change would do, without doing it', load: () => import('./commands/plan.ts') },
  why: { summary: 'Show why an object was changed', load: () => import('./commands/why.ts') },
  status: { summary: 'List what is not healthy, and why', load: () => import('./commands/status.ts') },
  tree: { summary: 'Show what an object depends on, and what needs it', load: () => import('./tree/tree-command.ts') },
  record: { summary: 'Record a cluster from outside, for a replay', load: () => import('./commands/record.ts') },
  capture: { summary: 'Write one file from a recording', load: () => import('./commands/capture.ts') },
  replay: { summary: 'Run the operators over a recording', load: () => import('./commands/replay.ts') },
  console: {
    summary: 'Show a cluster in the browser: causes, plans, changes',
    load: () => import('./console/console-command.ts'),
  },
  check: { summary: 'Check a cluster and an installation', load: () => import('./commands/check.ts') },
  crds: { summary: 'Print the CustomResourceDefinitions of operators', load: () => import('./commands/crds.ts') },
  rbac: { summary: 'Print the permissions that operators need', load: () => import('./commands/rbac.ts') },
  up: { summary: 'Start a whole cluster on this machine', load: () => import('./commands/up.ts') },
  down: { summary: 'Stop the cluster on this machine', load: () => import('./commands/down.ts') },
  reset: { summary: 'Delete the cluster on this machine', load: () => import('./commands/reset.ts') },
  setup: { summary: 'Fetch programs that capstan up runs', load: () => import('./setup/setup-command.ts') },
  install: { summary: 'Install operators in a cluster', load: () => import('./commands/install.ts') },
  upgrade: { summary: 'Bring an installation to this version', load: () => import('./commands/upgrade.ts') },
  uninstall: { summary: 'Remove an installation', load: () => import('./commands/uninstall.ts') },
  admission: { summary: 'Run the admission webhook', load: () => import('./commands/admission.ts') },
  completion: { summary: 'Print the completion of a shell', load: () => import('./commands/completion.ts') },
  version: { summary: 'Print the version', load: () => import('./commands/version.ts') },
};
