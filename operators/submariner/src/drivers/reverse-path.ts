// The two ends of a pair switch at different moments, so for a while packets arrive on another device than the one that answers leave by.
// The kernel accepts them with a loose reverse-path check (rp_filter 2). On a device without an IPv4 address it drops them all the same
// (`no_addr` in fib_validate_source), so each device has one.
import { ip, type Step, sysctl } from '../host/index.ts';

/** The address of devices that have no other one, in the reserved 246/8. It never leaves the host and is never a source address. */
const PLACEHOLDER = '246.0.0.1/32';

/** Lets a device without addresses accept packets whose answers leave by another device. */
export function acceptAnySide(device: string): Step[] {
  return [ip('addr', 'replace', PLACEHOLDER, 'dev', device, 'scope', 'host'), ...looseReversePath(device)];
}

/** Does the same for a device with an address. */
export function looseReversePath(device: string): Step[] {
  return [
    sysctl(['net', 'ipv4', 'conf', device, 'rp_filter'], '2'),
    sysctl(['net', 'ipv4', 'conf', device, 'forwarding'], '1'),
  ];
}
