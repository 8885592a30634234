// The commands of the program `sesame`. Modules that load slowly are imported when they are used.
import type { Commands } from '@capstan/reconcile/command-line';

export const COMMANDS: Commands = {
  serve: { summary: 'Run the control plane', load: () => import('./serve.ts') },
  'migrate config': {
    arguments: '[FILE|-]',
    summary: 'Migrate the configuration file to a SesameConfiguration, and back',
    load: () => import('./migrate-config.ts'),
  },
  'config show': {
    summary: 'Print the configuration in force, with the origin of each value',
    load: () => import('./config-show.ts'),
  },
  'config release': {
    arguments: '[NAME]',
    summary: 'Remove the finalizer that a Sesame left on its SesameConfiguration',
    load: () => import('./config-release.ts'),
  },
  bootstrap: { arguments: 'PATH|-', summary: 'Write Envoy’s bootstrap', load: () => import('./bootstrap.ts') },
  certgen: {
    arguments: '[FOLDER]',
    summary: 'Create certificates for Envoy and Sesame',
    load: () => import('./certgen.ts'),
  },
  cli: {
    arguments: 'TYPE [NAME…]',
    summary: 'Print what a running Sesame serves to Envoys',
    load: () => import('./xds-cli.ts'),
  },
  explain: {
    arguments: 'HOST[/PATH]',
    summary: 'Explain which route, filters and endpoints answer a request, and why',
    load: () => import('./explain.ts'),
  },
  echo: { summary: 'Answer HTTP requests: a backend to try routes with', load: () => import('./echo.ts') },
  'envoy shutdown-manager': {
    summary: 'Hold the end of Envoy’s container until its connections are closed',
    load: () => import('./envoy-shutdown-manager.ts'),
  },
  'envoy shutdown': { summary: 'Drain Envoy', load: () => import('./envoy-shutdown.ts') },
};
