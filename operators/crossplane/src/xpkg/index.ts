export { CacheWriteError, createPackageCache, type PackageCache } from './cache.ts';
export { PackageError, PackageErrors } from './errors.ts';
export { createPackageFetcher, type PackageFetcher, type PackageFetcherOptions } from './fetch.ts';
export { friendlyId, toDnsLabel } from './names.ts';
export {
  checkPackageType,
  type PackageDependency,
  type PackageMeta,
  type PackageObject,
  type PackageType,
  type ParsedPackage,
  parsePackage,
  readPackage,
} from './package.ts';
export {
  type Constraint,
  compareVersions,
  highestSatisfying,
  lowestSatisfying,
  parseConstraint,
  parseVersion,
  satisfies,
  type Version,
} from './semver.ts';
