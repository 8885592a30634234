// subctl diagnose cables: checks whether packets of encrypted cables could leave a gateway in clear text.
import type { Connection } from '../kinds/index.ts';
import { driverNameOf, isEncrypted } from '../policy/driver-names.ts';

export interface ProtectionReport {
  readonly unprotected: readonly { readonly cluster: string; readonly message: string }[];
  /** The number of encrypted cables with a backstop. */
  readonly count: number;
}

/**
 * Returns the protection of connections. Connections without this field are simulated or come from an older gateway, and their protection
 * is unknown.
 */
export function protectionOf(gateway: string, connections: readonly Connection[]): ProtectionReport {
  const encrypted = connections.filter(({ usingCableDriver = '', protected: isProtected }) => {
    const driver = driverNameOf(usingCableDriver);
    return isProtected !== undefined && driver !== undefined && isEncrypted(driver);
  });
  const unprotected = encrypted
    .filter((each) => each.protected === false)
    .map(({ endpoint: { cluster_id: cluster }, usingCableDriver }) => ({
      cluster,
      message: `cluster "${cluster}": packets could leave gateway ${gateway} in clear while its ${usingCableDriver} cable is down (protected: false); see the log of the gateway`,
    }));
  return { unprotected, count: encrypted.length - unprotected.length };
}
