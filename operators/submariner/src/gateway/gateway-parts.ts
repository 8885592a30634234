// The parts of a gateway program: its options, host, NAT discovery, cable engine and lease.
import { type Clock, type Logger, reasonOf, sleep } from '@capstan/kube';
import { type Backstop, createBackstop } from '../drivers/backstop.ts';
import { createDrivers } from '../drivers/create-drivers.ts';
import type { LocalEnd } from '../drivers/driver.ts';
import { createHost, type Host, HostErrors, missingProgram, type Programs } from '../host/index.ts';
import { type CableEngine, createCableEngine, type DriverStart } from './cable-engine.ts';
import type { GatewayConfiguration } from './configuration.ts';
import { type GatewayFiles } from './gateway-files.ts';
import type { createGatewayWriter } from './gateway-report.ts';
import { openDatagrams } from './nat/datagrams.ts';
import { createNatDiscovery, type NatDiscovery } from './nat/discovery.ts';
import { createSimulatedEngine } from './simulated-engine.ts';
import { cableNameOf } from './wanted-cable.ts';

export interface RunGatewayOptions {
  readonly configuration: GatewayConfiguration;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  /** Cables that exist in reports only; false by default. */
  readonly isSimulated?: boolean;
  /** Work in this network namespace instead of the process's own. */
  readonly networkNamespace?: string;
  readonly programs?: Partial<Programs>;
  readonly runDir?: string;
  /** The folder of files that must survive a reboot; by default the run directory that is given, else /var/lib/submariner. */
  readonly stateDir?: string;
  readonly wireguardDevice?: string;
  /** Creates a bridge with an address of the pod network where there is none: for namespaces of this machine. */
  readonly createsPodNetwork?: boolean;
  readonly version: string;
  /** How long an old way stays after a switch. */
  readonly drainMs?: number;
}

export const REPORT_MS = 1000;

const STATE_DIR = '/var/lib/submariner';

/**
 * Reports a program without which no cable is possible, and waits until it is installed: a gateway that ended instead could report
 * nothing. False when the gateway is stopped meanwhile.
 */
export async function hasPrograms(
  { programs }: Host,
  writer: ReturnType<typeof createGatewayWriter>,
  { configuration, version, clock, logger, signal }: RunGatewayOptions,
): Promise<boolean> {
  const missing = missingProgram(programs, 'ip');
  if (missing === undefined) return true;
  const problem = reasonOf(HostErrors.ProgramMissing(missing));
  logger.error('no cable is possible', { problem });
  while (!signal.aborted && missingProgram(programs, 'ip') !== undefined) {
    const backends = configuration.drivers.map((name) => ({ name, available: false, message: problem }));
    await writer
      .write({ version, haStatus: 'passive', statusFailure: problem, backends, connections: [] })
      .catch((error: unknown) => logger.warn('the Gateway object is not written', { problem: reasonOf(error) }));
    await sleep(clock, REPORT_MS, signal).catch(() => {});
  }
  return !signal.aborted;
}

/** Cables work without ping; their health is not known then. */
export function missingForChecks(host: Host | undefined): readonly string[] {
  const missing = host === undefined ? undefined : missingProgram(host.programs, 'ping');
  return missing === undefined ? [] : [`health checks: ${reasonOf(HostErrors.ProgramMissing(missing))}`];
}

export async function restoredBackstop(host: Host, { stateDir, runDir, logger }: RunGatewayOptions): Promise<Backstop> {
  const backstop = createBackstop({ host, stateDir: stateDir ?? runDir ?? STATE_DIR });
  // Without it the gateway goes on: each cable that needs it reports the problem, and is not brought up.
  await backstop.restore().catch((error: unknown) => logger.error('the backstop is not in place', { error }));
  return backstop;
}

export function hostOf({ networkNamespace, runDir, programs }: RunGatewayOptions): Host {
  return createHost({
    ...(networkNamespace !== undefined && { namespace: networkNamespace }),
    ...(runDir !== undefined && { runDir }),
    ...(programs !== undefined && { programs }),
  });
}

/** Undefined where it is switched off, or its port is taken: then the addresses of Endpoints are used as they are. */
export async function natDiscovery(
  { clusterID, discoveryPort }: GatewayConfiguration,
  local: LocalEnd,
  host: Host,
  { clock, logger }: RunGatewayOptions,
): Promise<NatDiscovery | undefined> {
  if (discoveryPort === 0) return undefined;
  try {
    return await createNatDiscovery({
      local: { clusterID, cableName: cableNameOf({ clusterID, local }), privateIP: local.privateIP },
      open: (onDatagram) => openDatagrams({ host, port: discoveryPort, clock, logger }, onDatagram),
      clock,
      logger,
    });
  } catch (error) {
    logger.warn('NAT discovery is not available', { port: discoveryPort, problem: reasonOf(error) });
    return undefined;
  }
}

export function engineOf(
  { configuration, clock, logger, drainMs, wireguardDevice }: RunGatewayOptions,
  host: Host | undefined,
  local: LocalEnd,
  files: GatewayFiles,
  nat: NatDiscovery | undefined,
  hooks: {
    readonly backstop: Backstop | undefined;
    readonly onStarts: (starts: ReadonlyMap<string, DriverStart>) => void;
  },
): CableEngine {
  if (host === undefined) return createSimulatedEngine(configuration.drivers);
  const drivers = createDrivers({
    names: configuration.drivers,
    host,
    local,
    clock,
    keys: () => files.keys(),
    options: () => files.options(),
    ...(wireguardDevice !== undefined && { wireguardDevice }),
  });
  return createCableEngine({
    host,
    drivers,
    sources: local,
    clock,
    logger,
    ...(nat !== undefined && { locate: (cable) => nat.locate(cable), forget: (cable) => nat.forget(cable) }),
    onStarts: hooks.onStarts,
    ...(hooks.backstop !== undefined && { backstop: hooks.backstop }),
    ...(drainMs !== undefined && { drainMs }),
  });
}

/**
 * Shorter than the usual 15 s, 10 s and 2 s: while the lease of a dead gateway runs, the cluster has no cables. A lease that lapses
 * while no other gateway takes it, as when the API server is slow, changes nothing on the host.
 */
const LEASE_TIMES = { leaseMs: 4000, renewMs: 3000, retryMs: 1000 };

/** As the original names them, in seconds; 4, 3 and 1 by default. */
export function leaseTimes(env: Readonly<Record<string, string | undefined>>) {
  const ms = (name: string) => {
    const seconds = Number(env[`LEADERSHIP_${name}`]);
    return seconds > 0 ? seconds * 1000 : undefined;
  };
  const [leaseMs, renewMs, retryMs] = [ms('LEASEDURATION'), ms('RENEWDEADLINE'), ms('RETRYPERIOD')];
  return {
    ...LEASE_TIMES,
    ...(leaseMs !== undefined && { leaseMs }),
    ...(renewMs !== undefined && { renewMs }),
    ...(retryMs !== undefined && { retryMs }),
  };
}
