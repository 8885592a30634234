/** The drivers that connect two clusters, and `none`, which keeps them apart. */
export const DRIVER_NAMES = ['ipsec', 'none', 'vxlan', 'vxlan+ipsec', 'wireguard'] as const;
export type DriverName = (typeof DRIVER_NAMES)[number];

/** The driver where nothing names one. */
export const BUILT_IN_DRIVER: DriverName = 'ipsec';

const ALIASES: Readonly<Record<string, DriverName>> = { libreswan: 'ipsec', strongswan: 'ipsec' };

/** The canonical name: case does not count, and the names of IPsec implementations mean `ipsec`. */
export function driverNameOf(text: string): DriverName | undefined {
  const name = text
    .toLowerCase()
    .split('+')
    .map((part) => (Object.hasOwn(ALIASES, part.trim()) ? ALIASES[part.trim()] : part.trim()))
    .join('+');
  return DRIVER_NAMES.find((known) => known === name);
}

/** The parts of a driver; a combined one needs all of them on the host. */
export function partsOf(driver: DriverName): readonly DriverName[] {
  return driver === 'vxlan+ipsec' ? ['vxlan', 'ipsec'] : [driver];
}

/** Whether traffic between the two clusters cannot be read on its way; without a cable there is none. */
export function isEncrypted(driver: DriverName): boolean {
  return driver !== 'vxlan';
}
