import { catalogue } from '@capstan/kube/cluster';

export const CaptureErrors = catalogue('capture', {
  NotACapture: (name: string) => ({
    message: `${name} is not a recording of Capstan`,
    remedy: 'give a file that capstan capture wrote, or a folder of capstan run --record',
  }),
  NewerFormat: (name: string, found: number, known: number) => ({
    message: `${name} has the format ${found}, and this version reads formats up to ${known}`,
    remedy: 'replay it with the version that wrote it, or a newer one',
  }),
  NoKey: (name: string) => ({
    message: `${name} is encrypted, because it holds the content of Secrets`,
    remedy: 'give the key file with --key',
  }),
  WrongKey: (name: string, wanted: string, given: string) => ({
    message: `${name} was encrypted with the key ${wanted}, and --key has the key ${given}`,
    remedy: 'give the file that capstan run --record was given',
  }),
  BadKey: (name: string) => ({
    message: `${name} is no key: it needs 32 bytes, as they are, in hex or in base64`,
    remedy: `create one with: openssl rand -hex 32 > ${name}`,
  }),
  Empty: (name: string) => ({
    message: `${name} holds no wave`,
    remedy: 'record for longer, or give another folder or file',
  }),
  NoRecording: (folder: string) => ({
    message: `there is no recording in ${folder}`,
    remedy: 'start Capstan with --record, and give that folder with --from',
  }),
  Unreadable: (name: string, problem: string) => ({
    message: `cannot read ${name}: ${problem}`,
    remedy: 'check the path and its permissions',
  }),
});
