// The commands of the program `gimbal` besides running the operator or a discoverer.
import type { Commands } from '@capstan/reconcile/command-line';

const rbac = async () => {
  const { runRbac } = await import('../discover/command/rbac.ts');
  return runRbac;
};

export const COMMANDS: Commands = {
  backends: {
    summary: 'List backends: their state, the age of their last sync, their errors',
    load: () => import('./program/backends.ts'),
  },
  drain: {
    arguments: 'NAME',
    summary: 'Send traffic elsewhere, for maintenance',
    load: () => import('./program/drain.ts'),
  },
  resume: { arguments: 'NAME', summary: 'Take traffic again', load: () => import('./program/resume.ts') },
  rotate: { arguments: 'NAME', summary: 'Change credentials', load: () => import('./program/rotate.ts') },
  'rbac remote': {
    arguments: 'TYPE',
    summary: 'Print what the remote side has to grant',
    load: async () => ({
      default: {
        async forward(argv, io) {
          const { UsageErrors } = await import('@capstan/reconcile/command-line');
          if (!['kubernetes', 'openstack'].includes(argv[0] ?? '') && !argv.includes('--help') && !argv.includes('-h'))
            throw UsageErrors.Missing(
              'gimbal rbac remote',
              'a type of backend (kubernetes, openstack)',
              'gimbal rbac remote kubernetes',
            );
          return (await rbac())(['remote', ...argv], io);
        },
      },
    }),
  },
  'rbac local': {
    summary: 'Print what a discoverer needs here',
    load: async () => ({ default: { forward: async (argv, io) => (await rbac())(['local', ...argv], io) } }),
  },
};
