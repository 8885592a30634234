// What `crossplane --help` and `crossplane core start --help` print.
import { FLAGS } from './flags.ts';

export const PROGRAM_HELP = `Usage: crossplane COMMAND [flags]

Packages from OCI registries: what they bring is installed, and what they run is run.

Commands:
  core start                  Run the package manager in a cluster
  core init                   Make what must be there before the first package: types, Lock, default runtime config
  xpkg build|push|inspect     Make, publish and look at packages, without Docker
  convert deployment-runtime  Turn ControllerConfigs into DeploymentRuntimeConfigs

Every other command is Capstan's: crossplane why, crossplane plan, crossplane status, …
crossplane COMMAND --help tells more about one of them.
`;

/** With those of upstream's flags that Capstan's own commands have under another name. */
const TRANSLATED = {
  'leader-election': { help: 'Write only while holding the Lease; default true.' },
  'metrics-port': { value: 'PORT', help: 'Where /metrics is served; default 8080 in a pod, else not at all.' },
  'health-probe-port': { value: 'PORT', help: 'Where /healthz and /readyz are; default 8081 in a pod, else nowhere.' },
  debug: { help: 'Log more.' },
};
const COLUMN = 40;

export const START_HELP = `Usage: crossplane core start [flags]

Runs the package manager until it is stopped (SIGTERM or Ctrl-C). It is "capstan run --operators crossplane", whose flags it
takes as well (--kubeconfig, --context, --install-crds, --watch-namespaces, …; see crossplane run --help).

Flags:
${Object.entries({ ...FLAGS, ...TRANSLATED })
  .map(([name, flag]) => line(name, flag))
  .join('\n')}
`;

function line(name: string, { value, help, env }: { value?: string; help: string; env?: string }): string {
  const flag = `  --${name}${value === undefined ? '' : ` ${value}`}`;
  const told = `${help}${env === undefined ? '' : ` Also ${env} in the environment.`}`;
  return flag.length < COLUMN ? `${flag.padEnd(COLUMN)}${told}` : `${flag}\n${' '.repeat(COLUMN)}${told}`;
}
