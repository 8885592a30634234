/** Where Leases and digest keys are unless the program is given another namespace, wherever it runs itself. */
export const SYSTEM_NAMESPACE = 'capstan-system';

/** The Secret with the operator's key for digests of secret data. */
export function digestKeyName(operator: string): string {
  return `capstan-${operator}-digest-key`;
}

export function leaseName(operator: string): string {
  return `capstan-${operator}`;
}
