import { catalogue } from '@capstan/kube';

export const HostErrors = catalogue('submariner', {
  StepFailed: (step: string, output: string) => ({
    message: `${step}: ${output === '' ? 'no output' : output}`,
    remedy: 'check that the gateway runs as root with CAP_NET_ADMIN',
  }),
  ProgramMissing: (program: string) => ({
    message: `the program ${program} is not installed in the gateway’s image`,
    remedy: 'use the image capstan-gateway (capstan install --submariner.image=IMAGE), or install the program',
  }),
  DaemonNotReady: (daemon: string, seconds: number, log: string) => ({
    message: `${daemon}: not ready after ${seconds} s${log === '' ? '' : ` (${log})`}`,
    remedy: 'see its log file in the run directory',
  }),
});
