import type { Listener } from '../api/objects.ts';
import type { RefProblem } from './certificates.ts';

/** The protocols that can share a port: names distinguish HTTPS and TLS, nothing distinguishes the others. */
const LAYERS: Readonly<Record<string, string>> = { HTTP: 'HTTP', HTTPS: 'TLS', TLS: 'TLS', TCP: 'TCP', UDP: 'UDP' };

/** Listeners that cannot be distinguished, by name. UDP ports are ports of their own. */
export function conflicts(listeners: readonly Listener[]): Map<string, RefProblem> {
  const found = new Map<string, RefProblem>();
  for (const one of listeners) {
    const layer = LAYERS[one.protocol];
    if (layer === undefined) continue;
    const others = listeners.filter(
      (other) =>
        other !== one &&
        other.port === one.port &&
        LAYERS[other.protocol] !== undefined &&
        (LAYERS[other.protocol] === 'UDP') === (layer === 'UDP'),
    );
    const strange = others.find((other) => LAYERS[other.protocol] !== layer);
    const same = others.find((other) => hostOf(other) === hostOf(one) || layer === 'TCP');
    if (strange)
      found.set(one.name, {
        reason: 'ProtocolConflict',
        message: `port: ${one.protocol} cannot share ${one.port} with ${strange.protocol} of listener ${strange.name}; change one of the ports`,
      });
    else if (same)
      found.set(one.name, {
        reason: 'HostnameConflict',
        message: `hostname: listener ${same.name} of port ${one.port} has the same one (${hostOf(one)}); change or remove one of them`,
      });
  }
  return found;
}

function hostOf({ hostname }: Listener): string {
  return (hostname || '*').toLowerCase();
}
