import { labelValue } from './discovered-name.ts';

/** The name of a load balancer as a label value: people call them anything. Empty stays empty. */
export function loadBalancerLabel(name: string): string {
  if (name === '') return '';
  // Character by character, also those beyond the first plane.
  let label = name.replace(/[^-a-zA-Z0-9._]/gu, '-');
  if (!/^[a-zA-Z0-9]/.test(label)) label = `lb${label}`;
  if (!/[a-zA-Z0-9]$/.test(label)) label = `${label}lb`;
  return labelValue(label);
}
