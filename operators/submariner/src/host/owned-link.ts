// Links that a gateway created, found by their alias: a link keeps it when it is renamed by hand.
import type { Host } from './host.ts';
import { ip, lenient, type Step } from './step.ts';

/** Marks a link as this gateway's under its name. */
export function markLinkStep(device: string): Step {
  return lenient(ip('link', 'set', 'dev', device, 'alias', aliasOf(device)));
}

/** Gives a link its name back that was renamed by hand; true when there was one. */
export async function restoreLinkName(host: Host, device: string): Promise<boolean> {
  const links = await host.query('ip', 'link', 'show');
  if (links.some(({ ifname }) => ifname === device)) return false;
  const found = links.find(({ ifalias }) => ifalias === aliasOf(device));
  if (found === undefined) return false;
  const name = String(found['ifname']);
  const { code } = await host.run([...host.programs.ip, 'link', 'set', 'dev', name, 'name', device]);
  // Kernels before 6.2 rename a link only while it is down.
  if (code !== 0)
    await host.apply([
      ip('link', 'set', 'dev', name, 'down'),
      ip('link', 'set', 'dev', name, 'name', device),
      ip('link', 'set', 'dev', device, 'up'),
    ]);
  return true;
}

/** One word: steps are lines of a batch. */
function aliasOf(device: string): string {
  return `submariner:${device}`;
}
