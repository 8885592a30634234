// One IPsec connection: its definition for charon, and its state from charon's report.
import { XFRM_ID } from './charon-process.ts';
import type { WayState } from './driver.ts';
import { sectionOf, textOf, type ViciAnswer } from './vici.ts';

export interface IpsecConnection {
  readonly name: string;
  readonly cluster: string;
  readonly localIP: string;
  readonly remoteIP: string;
  /** The private addresses identify both ends. */
  readonly localID: string;
  readonly remoteID: string;
  /** `transport` encrypts packets between the two gateways themselves; it needs kernel ESP. Default `tunnel`. */
  readonly mode?: 'tunnel' | 'transport';
  /** charon's traffic selectors, with the suffix `[udp/4790]` for one port. */
  readonly localSubnets: readonly string[];
  readonly remoteSubnets: readonly string[];
  readonly options: Readonly<Record<string, string>>;
  readonly remotePort: number;
  readonly usingNAT: boolean;
  readonly role: 'client' | 'server' | 'either';
}

const IKE_PROPOSALS = 'aes256gcm16-prfsha256-ecp256';
const ESP_PROPOSALS = 'aes256gcm16-ecp256';
/** The name of the only association of a connection. */
export const CHILD = 'net';

export function stateOf(sa: ViciAnswer): WayState {
  const children = Object.values(sectionOf(sa['child-sas'])).map((child) => sectionOf(child));
  const installed = children.filter((child) => /^(INSTALLED|REKEYING|REKEYED|UPDATING)$/.test(textOf(child['state'])));
  const sum = (field: string) => installed.reduce((total, child) => total + Number(textOf(child[field]) || 0), 0);
  const bytes = { bytesIn: sum('bytes-in'), bytesOut: sum('bytes-out') };
  if (installed.length > 0 && /^(ESTABLISHED|REKEYING|REKEYED)$/.test(textOf(sa['state'])))
    return { state: 'connected', ...bytes };
  return { state: 'connecting', message: `IKE association ${textOf(sa['state']).toLowerCase()}`, ...bytes };
}

/** Returns the definition in charon's format. */
export function definitionOf(connection: IpsecConnection, port: number, usesKernel: boolean) {
  const { options, localID, remoteID, usingNAT, mode = 'tunnel' } = connection;
  const list = (text: string) => text.split(',').map((each) => each.trim());
  const child = {
    mode,
    local_ts: [...connection.localSubnets],
    remote_ts: [...connection.remoteSubnets],
    esp_proposals: list(options['espProposals'] ?? ESP_PROPOSALS),
    start_action: 'none',
    // The engine opens connections. With `restart` the other end would restore a removed one.
    close_action: 'none',
    dpd_action: 'clear',
    // Packets of a tunnel pass the xfrm device. Packets of the gateway itself are matched where they leave.
    ...(usesKernel && mode === 'tunnel' && { if_id_in: XFRM_ID, if_id_out: XFRM_ID }),
  };
  return {
    version: '2',
    local_addrs: [connection.localIP],
    remote_addrs: [connection.role === 'server' && usingNAT ? '%any' : connection.remoteIP],
    local_port: String(port),
    remote_port: String(connection.remotePort),
    // Without kernel ESP, packets can pass only in UDP.
    encap: !usesKernel || usingNAT || options['forceEncaps'] === 'true' ? 'yes' : 'no',
    mobike: 'no',
    unique: 'replace',
    proposals: list(options['ikeProposals'] ?? IKE_PROPOSALS),
    dpd_delay: `${options['dpdDelay'] ?? '30'}s`,
    keyingtries: '1',
    local: { auth: 'psk', id: localID },
    remote: { auth: 'psk', id: remoteID },
    children: { [CHILD]: child },
  };
}
