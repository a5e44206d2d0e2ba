export { ensureToken } from './bearer-token.ts'
export { type ClusterCa, ensureClusterCa } from './cluster-ca.ts'
export { type EnsuredCertificate, ensureCertificate } from './ensure-certificate.ts'
export {
  type CertificateRequest,
  type CertificateUsage,
  type IssuedCertificate,
  issueCertificate,
} from './issue-certificate.ts'
export { type KubeconfigContent, renderKubeconfig } from './kubeconfig.ts'
export { PkiError, type PkiErrorCode } from './pki-error.ts'
export { writeSecretFile } from './secret-file.ts'
