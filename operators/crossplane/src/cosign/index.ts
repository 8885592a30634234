export { CosignErrors } from './errors.ts';
export type { TrustFiles } from './trust-root.ts';
export { type CosignAuthority, type Verdict, verifySignatures } from './verify.ts';
