import { catalogue } from '@capstan/kube';

export const HostErrors = catalogue('submariner', {
  StepFailed: (step: string, output: string) => ({
    message: `${step}: ${output === '' ? 'no output' : output}`,
    remedy: 'check that the gateway runs as root with CAP_NET_ADMIN',
  }),
  ProgramMissing: (program: string, packageName: string) => ({
    message: `program ${program} is not installed`,
    remedy: `install the package ${packageName} in the gateway’s image`,
  }),
  DaemonNotReady: (daemon: string, seconds: number, log: string) => ({
    message: `${daemon}: not ready after ${seconds} s${log === '' ? '' : ` (${log})`}`,
    remedy: 'see its log file in the run directory',
  }),
});
