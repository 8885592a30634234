import { MAX_NAME } from './discovered-name.ts';

/** Returns the problem of a backend's name, or undefined. */
export function backendNameProblem(name: string): string | undefined {
  if (name === '') return 'it is empty';
  if (!PATTERN.test(name)) {
    return 'it must begin with a lowercase letter, end with a letter or digit, and hold only lowercase letters, digits and hyphens';
  }
  return name.length > MAX_NAME ? `it is longer than ${MAX_NAME} characters` : undefined;
}

const PATTERN = /^[a-z]([-a-z0-9]*[a-z0-9])?$/;

/** Longer names than this cut the ids of OpenStack's load balancers, which makes discovered names hard to read. */
export const COMFORTABLE_BACKEND_NAME = 25;
