// subctl diagnose cables: whether packets of encrypted cables could leave a gateway in clear.
import type { Connection } from '../kinds/index.ts';
import { driverNameOf, isEncrypted } from '../policy/driver-names.ts';

export interface ProtectionReport {
  readonly unprotected: readonly { readonly cluster: string; readonly message: string }[];
  /** Encrypted cables with a backstop. */
  readonly count: number;
}

/** Connections that do not report it are simulated, or of an older gateway: nothing is known of them. */
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
