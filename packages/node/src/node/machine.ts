import { arch, cpus, hostname, platform, release, totalmem } from 'node:os';

/** The facts about the machine in a Node object. */
export interface Machine {
  cpus: number;
  memoryBytes: number;
  /** As Go names it: amd64, arm64. */
  architecture: string;
  operatingSystem: string;
  kernelVersion: string;
  hostname: string;
}

/** The machine that this process is on. */
export function thisMachine(): Machine {
  const architectures: Record<string, string> = { x64: 'amd64', ia32: '386' };
  return {
    cpus: cpus().length,
    memoryBytes: totalmem(),
    architecture: architectures[arch()] ?? arch(),
    operatingSystem: platform() === 'win32' ? 'windows' : platform(),
    kernelVersion: release(),
    hostname: hostname(),
  };
}
