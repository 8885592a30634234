// Every error about packages as files: archives, streams, the cache, building. A PackageError is about the package
// itself: trying the same bytes again cannot help.
import { CodedError, catalogue, errorMakers } from '@capstan/kube';

/** The package is not usable as it is. */
export class PackageError extends CodedError {}

export const PackageErrors = errorMakers(
  {
    Hostile: (problem: string) => ({
      message: `the archive was refused: ${problem}`,
      remedy: 'build the package again with crossplane xpkg build, and check where it came from',
    }),
    Truncated: (where: string) => ({
      message: `the archive is truncated: it ends ${where}`,
      remedy: 'build and push the package again',
    }),
    BadArchive: (problem: string) => ({
      message: `the archive cannot be read: ${problem}`,
      remedy: 'build and push the package again',
    }),
    TooLarge: (what: string, limit: string) => ({
      message: `${what} is larger than the limit of ${limit}`,
      remedy: 'check that this is the right package, or split it',
    }),
    NoStream: (where: string) => ({
      message: `${where} is not a package: it has no package.yaml`,
      remedy: 'build it with crossplane xpkg build',
    }),
    NotCached: (name: string) => ({
      message: `${name} is not in the package cache, and its pull policy is Never`,
      remedy: 'set packagePullPolicy to IfNotPresent, or bring the package into the cache',
    }),
    TwoStreams: (where: string, count: number) => ({
      message: `${where} marks ${count} layers as the package where there must be one`,
      remedy: 'build it again with crossplane xpkg build',
    }),
    NotAnImage: (where: string, problem: string) => ({
      message: `${where} is not an image: ${problem}`,
      remedy: 'check the file, or build it again with crossplane xpkg build',
    }),
    BadYaml: (place: string, problem: string) => ({
      message: `${place} is not YAML: ${problem}`,
      remedy: 'correct the file and build the package again',
    }),
    NotAPackage: (problems: readonly string[]) => ({
      message: `the package breaks the rules: ${listed(problems)}`,
      remedy: 'correct its files, then build and push it again',
    }),
    WrongType: (expected: string, found: string) => ({
      message: `the package is a ${found} and was installed as a ${expected}`,
      remedy: `create a ${found} with this package instead`,
    }),
  },
  (key, text, options) => new PackageError(`package/${key}`, text, options),
);

export const XpkgErrors = catalogue('xpkg', {
  Unreadable: (path: string, problem: string) => ({
    message: `cannot read ${path}: ${problem}`,
    remedy: 'check the path and its permissions',
  }),
  Unwritable: (path: string, problem: string) => ({
    message: `cannot write ${path}: ${problem}`,
    remedy: 'check the folder, its permissions and the space on the disk',
  }),
  NotHealthy: (what: string, waited: string, detail: string) => ({
    message: `${what} is not healthy after ${waited}${detail === '' ? '' : `: ${detail}`}`,
    remedy: 'see its conditions and those of its revisions',
  }),
  NoCluster: () => ({
    message: 'this program has no connection to a cluster',
    remedy: 'run it as crossplane xpkg',
  }),
  NoPackageFile: (folder: string, found: number) => ({
    message: found === 0 ? `${folder} has no .xpkg file` : `${folder} has ${found} .xpkg files`,
    remedy: 'name the file with -f',
  }),
  SamePlatform: (file: string, other: string) => ({
    message: `${file} and ${other} are for the same platform`,
    remedy: 'push one file a platform',
  }),
});

function listed(problems: readonly string[]): string {
  const shown = problems.slice(0, 10);
  const more = problems.length - shown.length;
  return `${shown.join('; ')}${more > 0 ? `; and ${more} more` : ''}`;
}
