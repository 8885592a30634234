export { CosignErrors } from './errors.ts';
export { type CosignAuthority, type Verdict, verifySignatures } from './verify.ts';
