export const ADMISSION = 'admission';
/** The name of every object of the webhook. */
export const ADMISSION_NAME = 'capstan-admission';
export const ADMISSION_SECRET = 'capstan-admission-tls';
export const ADMISSION_PATH = '/validate';
/** A namespace with this label and the value `disabled` is not looked at. */
export const ADMISSION_LABEL = 'capstan.dev/admission';

/** All names that the server may call the webhook by, sorted. */
export function admissionDnsNames(namespace: string): string[] {
  return ['', `.${namespace}`, `.${namespace}.svc`, `.${namespace}.svc.cluster.local`]
    .map((end) => ADMISSION_NAME + end)
    .toSorted();
}
