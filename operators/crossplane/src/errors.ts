import { catalogue } from '@capstan/kube';

/** Errors of the facts about packages. */
export const FactErrors = catalogue('crossplane', {
  NoSource: () => ({
    message: 'no registry is set up here',
    remedy: 'run Crossplane with crossplane core start, or with capstan run or capstan up',
  }),
  NotVouchedFor: (image: string, problems: readonly string[]) => ({
    message: `no allowed key vouches for ${image}: ${problems.join('; ')}`,
    remedy: 'sign it with a key that the ImageConfig names, or name the key that it is signed with',
  }),
  NotCached: (image: string) => ({
    message: `the package ${image} is not in the cache, and its pull policy is Never`,
    remedy: 'set spec.packagePullPolicy to IfNotPresent, or put the package into the cache',
  }),
});

export const CertificateErrors = catalogue('crossplane', {
  NoAuthority: (namespace: string, secret: string) => ({
    message: `there is no certificate authority in the Secret ${namespace}/${secret}`,
    remedy:
      'it is created when Crossplane starts; see the Events of the CustomResourceDefinition locks.pkg.crossplane.io',
  }),
});

export const BoundErrors = catalogue('crossplane', {
  NothingToAllow: (provider: string) => ({
    message: `the Provider ${provider} has no active revision with types of its own`,
    remedy: 'wait until its package is pulled (kubectl get providerrevisions), or check the name',
  }),
});
