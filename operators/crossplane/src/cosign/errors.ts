import { CodedError, catalogue } from '@capstan/kube';

const errors = catalogue('cosign', {
  NotSigned: (image: string, tag: string) => ({
    message: `${image} is not signed: there is no ${tag} beside it`,
    remedy: 'sign it with cosign sign --key',
  }),
  NoDigest: (image: string) => ({
    message: `the signature of ${image} cannot be checked, because it is not named by its digest`,
    remedy: 'resolve its tag first',
  }),
  BadTrustRoot: (path: string, why: string) => ({
    message: `the trust root of keyless signatures cannot be used: ${path}: ${why}`,
    remedy: 'give files of Sigstore: trusted_root.json, or certificates and public keys in PEM',
  }),
});

export const CosignErrors = {
  ...errors,
  isNotSigned: (error: unknown): error is CodedError =>
    error instanceof CodedError && error.code === 'cosign/NotSigned',
};
