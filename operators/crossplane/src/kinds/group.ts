/** Where all kinds of packages live. */
export const GROUP = 'pkg.crossplane.io';

/** Names the package of a revision or of its runtime. */
export const PACKAGE_LABEL = `${GROUP}/package`;
/** Which revision a runtime belongs to. */
export const REVISION_LABEL = `${GROUP}/revision`;
/** Providers of one family share access to each other's types. */
export const FAMILY_LABEL = `${GROUP}/provider-family`;
/** Set to "true" by users: reconciliation, deletion included, pauses. `capstan.dev/paused` does the same. */
export const PAUSED_ANNOTATION = 'crossplane.io/paused';
/** On a revision: the digest that its package had when the revision was created. */
export const DIGEST_ANNOTATION = 'capstan.dev/package-digest';
/** On a revision that shall be active once its package is unpacked: until then the one before stays in force. */
export const CANDIDATE_ANNOTATION = 'capstan.dev/candidate';

export const PACKAGE_CATEGORIES = ['crossplane', 'pkg'];
export const REVISION_CATEGORIES = ['crossplane', 'pkgrev'];

export const PACKAGE_COLUMNS = [
  { name: 'Installed', jsonPath: '.status.conditions[?(@.type=="Installed")].status' },
  { name: 'Healthy', jsonPath: '.status.conditions[?(@.type=="Healthy")].status' },
  { name: 'Package', jsonPath: '.spec.package' },
];

export const REVISION_COLUMNS = [
  { name: 'Healthy', jsonPath: '.status.conditions[?(@.type=="Healthy")].status' },
  { name: 'Runtime', jsonPath: '.status.conditions[?(@.type=="RuntimeHealthy")].status' },
  { name: 'Revision', jsonPath: '.spec.revision', type: 'integer' as const },
  { name: 'Image', jsonPath: '.spec.image' },
  { name: 'State', jsonPath: '.spec.desiredState' },
  { name: 'Dep-Found', jsonPath: '.status.foundDependencies', type: 'integer' as const, priority: 1 },
  { name: 'Dep-Installed', jsonPath: '.status.installedDependencies', type: 'integer' as const, priority: 1 },
];
