// Every error of the converter. A partial conversion is a finding, not an error.
import { catalogue } from '@capstan/kube';

export const ConvertErrors = catalogue('crossplane-convert', {
  NotYaml: (place: string, problem: string) => ({
    message: `${place} cannot be read as YAML or JSON: ${problem}`,
    remedy: 'correct the file there; nothing was written',
  }),
  BadField: (place: string, kind: string, field: string, wanted: string) => ({
    message: `${place}: ${field} of the ${kind} must be ${wanted}`,
    remedy: 'correct it there; nothing was written',
  }),
  Unreadable: (path: string, problem: string) => ({
    message: `cannot read ${path}: ${problem}`,
    remedy: 'check the path and its permissions; nothing was written',
  }),
  Unwritable: (path: string, problem: string) => ({
    message: `cannot write ${path}: ${problem}`,
    remedy: 'check the path and its permissions',
  }),
  NoManifests: (path: string) => ({
    message: `${path} holds no YAML or JSON file`,
    remedy: 'name a file or folder with manifests',
  }),
  OverwritesInput: (path: string) => ({
    message: `${path} is one of the inputs and would be overwritten`,
    remedy: 'choose another -o, or convert the files where they are with --in-place',
  }),
  OneFileForMany: (path: string, count: number) => ({
    message: `${path} is a file and the input has ${count}`,
    remedy: 'name a folder with -o, with a slash at its end when it is not there yet',
  }),
  SamePlace: (path: string) => ({
    message: `two inputs would be written to ${path}`,
    remedy: 'convert them one after the other, into different folders',
  }),
});
