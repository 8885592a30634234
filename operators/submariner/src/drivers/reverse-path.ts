// The two ends of a pair change over at different moments: for a while packets come in by another device than they go out. The kernel
// accepts them with a loose check of the way back (rp_filter 2). On a device without an IPv4 address it drops them all the same
// (`no_addr` in fib_validate_source), so each device has one.
import { ip, type Step, sysctl } from '../host/index.ts';

/** Of devices that have no other address; in 246/8, which is reserved. It never leaves the host and is no source of packets. */
const PLACEHOLDER = '246.0.0.1/32';

/** Lets a device without addresses take packets whose answers leave by another device. */
export function acceptAnySide(device: string): Step[] {
  return [ip('addr', 'replace', PLACEHOLDER, 'dev', device, 'scope', 'host'), ...looseReversePath(device)];
}

/** The same for a device that has an address. */
export function looseReversePath(device: string): Step[] {
  return [
    sysctl(['net', 'ipv4', 'conf', device, 'rp_filter'], '2'),
    sysctl(['net', 'ipv4', 'conf', device, 'forwarding'], '1'),
  ];
}
