// The program `crossplane`: `core start` runs the operator, with the flags of the original; its other commands.
import type { OperatorProgram } from '@capstan/reconcile';
import type { Commands } from '@capstan/reconcile/command-line';
import { type FLAGS, START_FLAGS } from './flags.ts';

export const PROGRAM: OperatorProgram<typeof FLAGS, typeof START_FLAGS> = {
  run: 'core start',
  flags: START_FLAGS,
  createsNamespaces: true,
  runFlags: ({ namespace, debug, ...values }) => ({
    namespace,
    // All that it touches and that is in a namespace is in this one: Roles there are enough for it.
    'watch-namespaces': namespace,
    'leader-elect': values['leader-election'],
    'metrics-address': addressOf(values['metrics-port']),
    'health-address': addressOf(values['health-probe-port']),
    'log-level': debug === true ? 'debug' : undefined,
  }),
};

export const COMMANDS: Commands = {
  'core init': {
    summary: 'Create what the first package needs: types, Lock, default runtime config',
    load: () => import('./init-command.ts'),
  },
  'core allow': {
    arguments: 'PROVIDER',
    summary: 'Let a provider have the types that its package brings',
    load: () => import('./allow-command.ts'),
  },
  xpkg: {
    arguments: 'build|push|inspect|extract|install|update',
    summary: 'Build, publish, inspect and install packages, without Docker',
    load: async () => {
      const { xpkgCommand } = await import('../xpkg/commands/index.ts');
      return { default: { forward: xpkgCommand } };
    },
  },
  convert: {
    arguments: 'deployment-runtime',
    summary: 'Turn ControllerConfigs into DeploymentRuntimeConfigs',
    load: () => import('./convert-command.ts'),
  },
  'beta trace': {
    arguments: 'TYPE/NAME',
    summary: 'Show what belongs to a package, as a tree with conditions',
    load: () => import('./trace-command.ts'),
  },
  'beta convert': {
    arguments: 'deployment-runtime',
    summary: 'The same, under the original’s name',
    load: () => import('./convert-command.ts'),
  },
};

function addressOf(port: number | undefined): string | undefined {
  return port === undefined ? undefined : `:${port}`;
}
