export { type BuildInput, type BuiltPackage, buildPackage, type SourceFile } from './build.ts';
export { CacheWriteError, createPackageCache, type PackageCache } from './cache.ts';
export { type XpkgIo } from './commands/command.ts';
export { xpkgCommand } from './commands/xpkg-command.ts';
export { PackageError, PackageErrors } from './errors.ts';
export { createPackageFetcher, type PackageFetcher, type PackageFetcherOptions } from './fetch.ts';
export { type ImageFile, imageFileBytes, openImageFile } from './image-file.ts';
export { type ImageSource, remoteImage } from './image-source.ts';
export { type Inspection, inspectImage } from './inspect.ts';
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
export { type PushedPackage, pushImages } from './push.ts';
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
