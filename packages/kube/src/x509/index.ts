export {
  type CaOptions,
  type CertificateAndKey,
  createCa,
  type IssueOptions,
  issueCertificate,
  type Validity,
} from './certificate.ts';
export { generateKeys, type KeyPair, type KeyType, privateKeyPem } from './keys.ts';
export { certificatesIn } from './pem.ts';
export * from './validity.ts';
