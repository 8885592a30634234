// One cable as the engine keeps it: its wanted state, its installed state, and its report.
import type { Cable, CableDriver, WayState } from '../drivers/driver.ts';
import type { CableReport, WantedCable } from './cable-engine.ts';

export interface Installed {
  readonly driver: CableDriver;
  readonly cable: Cable;
}

export interface CableEntry {
  wanted: WantedCable | undefined;
  /** Where its routes lead now. */
  installed: Installed | undefined;
  problem: string | undefined;
  way: WayState | undefined;
  connectedAt: number | undefined;
  retryAt: number;
  failures: number;
  /** How often it was repaired since it was last seen connected. */
  repairs: number;
  /** The work on this cable, in order. */
  work: Promise<void>;
  /** How much of that work is not done yet. */
  pending: number;
}

export function newEntry(): CableEntry {
  return {
    wanted: undefined,
    installed: undefined,
    problem: undefined,
    way: undefined,
    connectedAt: undefined,
    retryAt: 0,
    failures: 0,
    repairs: 0,
    work: Promise.resolve(),
    pending: 0,
  };
}

export function reportOf(
  { installed, problem, way, connectedAt }: CableEntry,
  { driver, policy, cable }: WantedCable,
): CableReport {
  const { remoteIP, usingNAT } = installed?.cable ?? cable;
  const base = {
    // Report the driver that carries traffic now, also while another driver is being prepared.
    driver: installed?.driver.name ?? driver,
    policy,
    usingIP: remoteIP,
    usingNAT,
    ...(way?.bytesIn !== undefined && { bytesIn: way.bytesIn }),
    ...(way?.bytesOut !== undefined && { bytesOut: way.bytesOut }),
    ...(connectedAt !== undefined && { connectedAt }),
  };
  if (driver === 'none') return { ...base, status: 'none', message: 'the policy selects no cable' };
  if (problem !== undefined) return { ...base, status: 'error', message: problem };
  if (installed === undefined || way === undefined)
    return { ...base, status: 'connecting', message: 'preparing the cable' };
  return { ...base, status: way.state, message: way.message };
}

export function keyOf({ driver, cable }: Installed): string {
  return `${driver.name} ${keyOfCable(driver, cable)}`;
}

export function keyOfCable(driver: CableDriver, cable: Cable | undefined): string {
  try {
    return cable === undefined ? '' : driver.keyOf(cable);
  } catch {
    // The other end has not published the parts of the key.
    return '';
  }
}

export function safeDevice(driver: CableDriver, cable: Cable): string {
  return driver.route(cable).device;
}

export function isSameWay(one: Installed, other: Installed): boolean {
  const [a, b] = [one.driver.route(one.cable), other.driver.route(other.cable)];
  return a.device === b.device && a.via === b.via && a.mtu === b.mtu;
}

export function isSameSubnets(one: Cable, other: Cable): boolean {
  return one.remoteSubnets.join() === other.remoteSubnets.join();
}

export function isSameCable(one: WantedCable, other: WantedCable): boolean {
  return one.driver === other.driver && JSON.stringify(one.cable) === JSON.stringify(other.cable);
}
