export { clusterDnsPod, dnsMirror } from './kube-dns/plan.ts'
export { DnsPlane } from './plane/plane.ts'
export { createDnsSources } from './sources/sources.ts'
export { DnsFormatError } from './wire/errors.ts'
