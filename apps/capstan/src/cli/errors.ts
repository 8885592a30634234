// Every error of the command line's own; exit code 1. Mistakes in the command itself are UsageErrors.
import { CodedError, errorMakers } from '@capstan/kube';

export const CliErrors = errorMakers(
  {
    NoOperators: (command: string) => ({
      message: `${command} has no operator to work with: --operators names none`,
      remedy: `load one with --operator FILE, as in ${command} --operator docs/examples/website-operator.ts`,
    }),
    OperatorNotFound: (file: string) => ({
      message: `cannot load the operator ${file}: there is no such file`,
      remedy: 'check the path',
    }),
    OperatorBroken: (file: string, problem: string, cause: unknown) => ({
      cause,
      message: `cannot load the operator ${file}: ${problem}`,
      remedy: 'correct the module',
    }),
    NotAnOperator: (file: string) => ({
      message: `the module ${file} exports no operator`,
      remedy: 'export operator({...}) as its default or under the name "operator"',
    }),
    SameOperator: (name: string) => ({
      message: `two operators are named "${name}"`,
      remedy: 'give one of them another name, or leave one out',
    }),
    UnknownKind: (name: string, near: string | undefined) => ({
      message: `the cluster has no kind "${name}"`,
      remedy: near === undefined ? 'check its name, and that its CRD is installed' : `did you mean "${near}"?`,
    }),
    NoSuchObject: (kind: string, key: string) => ({
      message: `there is no ${kind} ${key}`,
      remedy: 'check the name, and give its namespace with -n',
    }),
    Unreadable: (path: string, problem: string) => ({
      message: `cannot read ${path}: ${problem}`,
      remedy: 'check the path and its permissions',
    }),
    NoManifests: (place: string) => ({
      message: `${place} holds no manifest`,
      remedy: 'give YAML or JSON files with apiVersion, kind and metadata.name',
    }),
    BadManifest: (place: string, problem: string) => ({
      message: `${place} is not a manifest: ${problem}`,
      remedy: 'correct the file there',
    }),
    Refused: (place: string, object: string, said: string) => ({
      message: `the server would refuse ${object} of ${place}: ${said}`,
      remedy: 'correct the manifest',
    }),
    NotSynced: (seconds: number, waitingFor: readonly string[]) => ({
      message: `the caches did not fill within ${seconds} s; still missing: ${waitingFor.join('; ')}`,
      remedy: 'check the permissions (capstan rbac) and the API server, or give a longer --timeout',
    }),
    NoNodeYet: (cluster: string) => ({
      message: `the node of cluster ${cluster} has not started yet`,
      remedy: 'try again in a moment',
    }),
    BadDemo: (file: string) => ({
      message: `${file} does not say how to prepare the demonstration: its default export is no function`,
      remedy:
        'export default async function prepare({ data, clusters, signal }), which returns the variables of the manifests',
    }),
    PartEnded: () => ({
      message: 'a part of the cluster ended by itself',
      remedy: 'the log says which one and why; start it again with --log-level debug to see more',
    }),
  },
  (key, text, options) => new CodedError(`capstan/${key}`, text, options),
);
