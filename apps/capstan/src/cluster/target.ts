// An object as people name it on the command line.
import { UsageErrors } from '@capstan/reconcile/command-line';

export interface Target {
  /** As for kubectl: deployment, deploy, deployments.apps. */
  readonly kind: string;
  readonly name: string;
}

/** `deployment/x` or `deployment x`. */
export function targetOf(typed: string, positionals: readonly string[]): Target {
  const parts = positionals.length === 1 ? (positionals[0] ?? '').split('/') : positionals;
  const [kind, name] = parts;
  if (parts.length !== 2 || !kind || !name) {
    throw UsageErrors.Missing(typed, 'one object as KIND/NAME', `${typed} deployment/my-proxy -n edge`);
  }
  return { kind, name };
}
